// The page of a booking that must be confirmed first. The booking page fetches this module after such a booking, or if
// a link opens one.
export { Request, showAsked } from '../manage/request.js'
