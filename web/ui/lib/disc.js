// The disc with the initials of a person who has no picture. It only repeats the name next to it, so
// screen readers skip it.
import { html } from './html.js'

// initialsOf returns the first letters of the first and the last word of a name, without titles such as "Dr".
const initialsOf = name => {
  const all = name.trim().split(/\s+/)
  const words = all.filter(w => !/^\p{L}{1,4}\.$|^(dr|dra|prof|mr|mrs|ms|herr|frau)$/iu.test(w))
  const [first, ...rest] = words.length ? words : all
  return [first, rest.at(-1)].map(w => (w ? [...w][0].toUpperCase() : '')).join('')
}
export const Disc = ({ name }) => html`
  <span class="disc" data-initials=${initialsOf(name)} aria-hidden="true"></span>
`
