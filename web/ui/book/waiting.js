// The waiting list, fetched where somebody wants to wait or follows a link of it.
export { Sooner, Waiting, showWait } from '../manage/waiting.js'
