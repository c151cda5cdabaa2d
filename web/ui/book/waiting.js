// The waiting list. The page fetches this module when a patient wants to wait, or follows a link from a waiting-list
// email.
export { Sooner, Waiting, showWait } from '../manage/waiting.js'
