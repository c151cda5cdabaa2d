// Renders the open dialog. At most one is open; desk.open names it.
import { html } from '../lib/html.js'
import { useStore } from '../lib/store.js'
import { Appointment } from './appointment.js'
import { Block, DropBlock, Unblock } from './block.js'
import { Book } from './book.js'
import { Closing, InTheWay } from './closing.js'
import { Cancel, Move } from './move.js'
import { Correct } from './correct.js'
import { Erase } from './erase.js'
import { Find } from './find.js'
import { Gap } from './gap.js'
import { News } from './news.js'
import { Person } from './person.js'
import { Roster, WaitFor } from './roster.js'
import { Search } from './search.js'
import { Sooner } from './sooner.js'
import { Keys, View } from './view.js'
import { Why } from './why.js'

const kinds = {
  appointment: Appointment,
  block: Block,
  dropBlock: DropBlock,
  unblock: Unblock,
  book: Book,
  cancel: Cancel,
  closing: Closing,
  inTheWay: InTheWay,
  correct: Correct,
  erase: Erase,
  move: Move,
  find: Find,
  gap: Gap,
  news: News,
  person: Person,
  roster: Roster,
  waitFor: WaitFor,
  search: Search,
  sooner: Sooner,
  keys: Keys,
  view: View,
  why: Why,
}
let n = 0
const seen = new WeakMap()

export function Dialogs({ desk }) {
  const dialog = useStore(desk.store, s => s.dialog)
  if (!dialog) return null
  // Each opening creates a new dialog, even if the previous one was of the same kind. If one dialog opened another,
  // closing the second opens the first again, unless the dialog closes because the page changes.
  if (!seen.has(dialog)) seen.set(dialog, ++n)
  const { kind, ...props } = dialog,
    View = kinds[kind]
  return html`
    <${View}
      key=${seen.get(dialog)}
      desk=${desk}
      ...${props}
      close=${why => {
        if (desk.store.get().dialog === dialog)
          props.back && why !== 'leave' ? desk.open(props.back.kind, { back: undefined, ...props.back }) : desk.close()
      }}
    />
  `
}
