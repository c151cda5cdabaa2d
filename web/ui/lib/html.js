// Every component takes its tags and hooks from here, so the libraries are named once.
import { h, render, Component } from 'preact'
import htm from 'htm'
export * from 'preact/hooks'
export { h, render, Component }
export const html = htm.bind(h)
