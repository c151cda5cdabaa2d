// What a booking needs after its time was chosen: the form, and the page of the booked appointment. It is
// fetched while the patient looks at the times.
export { Details } from './details.js'
export { showBooked } from '../manage/appointment.js'
