// The modules that a booking needs after the patient chose a time: the form, and the page of the booked appointment.
// The page fetches them while the patient reads the times.
import { loadTypeface } from '../lib/typeface.js'

export { Details } from './details.js'
export { showBooked } from '../manage/appointment.js'

loadTypeface()
