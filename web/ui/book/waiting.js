// The waiting list. The page fetches this module when a patient wants to join the waiting list, or opens a link from a
// waiting-list email.
export { Sooner, Waiting, showWait } from '../manage/waiting.js'
