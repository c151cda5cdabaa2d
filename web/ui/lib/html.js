// Every component takes its tags and hooks from here, so the libraries are named once.
import { h, render, Fragment } from 'preact'
import htm from 'htm'
export * from 'preact/hooks'
export { render, Fragment }
export const html = htm.bind(h)
