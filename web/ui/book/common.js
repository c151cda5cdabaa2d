// What the booking page and the page of a booked appointment have in common. The server puts it all into
// this one file; whoever imports a part of it by its own name gets it from there.
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
