// Every component takes its tags and hooks from here, so the libraries are named once.
import { h, render, Fragment, Component } from 'preact'
import htm from 'htm'
export * from 'preact/hooks'
export { h, render, Fragment, Component }
export const html = htm.bind(h)
