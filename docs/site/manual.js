// The script of the manual: the search of the API reference and its forms to try an operation. The pages are complete without it.

// The menu is open where there is room for it.
const menu = document.querySelector('nav details')
if (menu && matchMedia('(min-width: 60rem)').matches) menu.open = true

// A link to a section of the reference that was at /docs leads to its new page.
if (location.pathname === '/docs' && location.hash.length > 1 && !document.getElementById(location.hash.slice(1)))
  location.replace('/docs/api' + location.hash)

const find = document.getElementById('find')
if (find) {
  find.parentElement.hidden = false
  const status = find.parentElement.querySelector('[role=status]')
  const rows = [...document.querySelectorAll('.operations tbody tr')].map(row => ({ row, text: (row.id + ' ' + row.textContent).toLowerCase() }))
  find.addEventListener('input', () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean)
    let found = 0
    for (const { row, text } of rows) {
      row.hidden = !words.every(word => text.includes(word))
      if (!row.hidden) found++
    }
    for (const section of document.querySelectorAll('.operations')) section.hidden = !section.querySelector('tbody tr:not([hidden])')
    status.textContent = words.length ? found + (found === 1 ? ' operation' : ' operations') : ''
  })
}

const key = document.getElementById('key')
if (key) key.parentElement.hidden = false

/** An element with attributes and children. */
function make(name, attributes, ...children) {
  const e = document.createElement(name)
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v)
  e.append(...children)
  return e
}

for (const place of document.querySelectorAll('.try')) {
  const about = JSON.parse(place.dataset.try)
  const details = make('details', {}, make('summary', {}, 'Try it'))
  details.addEventListener('toggle', () => { if (details.children.length === 1) details.append(form(about)) })
  place.append(details)
}

function form({ method, path, parameters, body }) {
  const inputs = parameters.map(p => {
    const input = make('input', { autocomplete: 'off', spellcheck: 'false' })
    input.required = p.required && p.in === 'path'
    return { ...p, input }
  })
  const text = body ? make('textarea', { rows: String(Math.min(16, body.split('\n').length + 1)), spellcheck: 'false' }) : null
  if (text) text.value = body
  const output = make('div', { role: 'status' })
  const whole = make('form', {},
    make('p', {}, 'This sends a real request to this server' + (method === 'GET' ? '.' : ', and can change its data.')),
    ...inputs.map(p => make('label', {}, p.name + ' (' + p.in + (p.required ? ', required' : '') + ')', p.input)),
    ...(text ? [make('label', {}, 'Body', text)] : []),
    make('p', {}, make('button', {}, 'Send ' + method + ' request')),
    output)
  whole.addEventListener('submit', async event => {
    event.preventDefault()
    let address = path
    const query = new URLSearchParams()
    const headers = {}
    for (const p of inputs) {
      const value = p.input.value
      if (p.in === 'path') address = address.replace('{' + p.name + '}', encodeURIComponent(value))
      else if (value && p.in === 'query') query.set(p.name, value)
      else if (value && p.in === 'header') headers[p.name] = value
    }
    if (key.value) headers.Authorization = 'Bearer ' + key.value.trim()
    if (text) headers['Content-Type'] = 'application/json'
    if (String(query)) address += '?' + query
    output.replaceChildren('Waiting for the answer …')
    try {
      const stop = new AbortController() // a live stream has no end
      setTimeout(() => stop.abort(), 15000)
      const answer = await fetch(address, { method, headers, credentials: 'omit', body: text ? text.value : undefined, signal: stop.signal })
      let shown = await answer.text()
      try { shown = JSON.stringify(JSON.parse(shown), null, 2) } catch { /* not JSON: shown unchanged */ }
      output.replaceChildren(make('p', {}, 'Response: ' + answer.status + ' ' + answer.statusText), make('pre', { tabindex: '0' }, make('code', {}, shown || '(no body)')))
    } catch (error) {
      output.replaceChildren(make('p', {}, 'No complete answer within 15 seconds: ' + error.message))
    }
  })
  return whole
}
