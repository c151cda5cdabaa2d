// The page /manage. It shows the appointment whose token is in the URL fragment.
import { html, render } from '../lib/html.js'
import { ready as client } from '../lib/client.js'
import { ready as words } from '../lib/i18n.js'
import { Manage, linkOf } from './appointment.js'

await Promise.all([words, client])
render(
  html`
    <${Manage} link=${linkOf(location.hash)} />
  `,
  document.getElementById('app'),
)
