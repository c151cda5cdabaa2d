// The modules that the booking page and the manage page share, and those that a script needs for which the booking page
// waits before it shows anything: such a script must not import from page.js, which would wait for itself. The server
// bundles them into this one file; imports of a module by its own name resolve to this file.
import '../lib/disc.js'
import '../lib/hold.js'
import '../lib/router.js'
import '../lib/renew.js'
import '../lib/say.js'
import './calendar.js'
import './days.js'
import './times.js'
import './lost.js'
import './problem.js'
import './shell.js'
