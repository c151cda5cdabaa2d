// A booking that has to be confirmed first, fetched where one was asked for or a link opens one.
export { Request, showAsked } from '../manage/request.js'
