// The modules that the booking page shares with the manage page and with scripts that it loads before it shows
// anything. Such a script must not import from page.js: page.js waits for the script, and the script would wait for
// page.js. The server bundles these modules into this one file; imports of a module by its own name resolve to it.
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
