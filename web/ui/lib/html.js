// All components import their tags and hooks from here, so that only this file names the libraries.
import { h, render, Component } from 'preact'
import htm from 'htm'
export * from 'preact/hooks'
export { h, render, Component }
export const html = htm.bind(h)
