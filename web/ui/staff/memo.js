import { Component } from '../lib/html.js'

// memo renders a component again only if one of its properties has changed. The view must not use hooks.
export const memo = view =>
  class extends Component {
    shouldComponentUpdate(next) {
      for (const key in next) if (next[key] !== this.props[key]) return true
      for (const key in this.props) if (!(key in next)) return true
      return false
    }
    render(props) {
      return view(props)
    }
  }
