// Puts the booking page into another website, in one of two ways.
//
// At the position of the script tag:
//   <script src="https://book.example.org/embed.js" data-type="checkup" data-lang="de" data-theme="light" async></script>
// At the position of the element. Its attributes can change, and its events notify the site:
//   <script src="https://book.example.org/embed.js" data-element async></script>
//   <holdfast-booking type="checkup" lang="de" theme="light"></holdfast-booking>
// The element dispatches "height" (detail: pixels) and "booked" (no detail). The site receives no other information.
;(function () {
  'use strict'
  /** @type {any} */
  var script = document.currentScript
  if (!script) return
  var home = new URL(script.src)
  var options = ['type', 'specialist', 'place', 'lang', 'theme']

  // show inserts a frame with a function, and returns a function that removes the frame and its listeners. `of` reads
  // an option; `notify` receives the events of the page.
  function show(insert, of, notify) {
    var url = new URL('/embed', home)
    options.forEach(function (name) {
      if (of(name)) url.searchParams.set(name, of(name))
    })
    var frame = document.createElement('iframe')
    frame.src = url.href
    frame.title = of('title') || 'Book an appointment'
    frame.referrerPolicy = 'no-referrer'
    frame.style.cssText =
      'display:block;width:100%;height:640px;border:0;background:transparent;color-scheme:' +
      ({ dark: 'dark', auto: 'light dark' }[of('theme')] || 'light')
    // The frame is as high as its content, so the page in it cannot measure which part the visitor sees. The site
    // sends it the number of pixels below the window, but only after the frame has sent its height: if the site may
    // not embed the page, the browser shows its own error page in the frame.
    var waits = false,
      ours = false
    function seen() {
      if (waits || !ours) return
      waits = true
      requestAnimationFrame(function () {
        waits = false
        var below = Math.max(0, Math.round(frame.getBoundingClientRect().bottom - window.innerHeight))
        frame.contentWindow && frame.contentWindow.postMessage({ holdfast: 'seen', below: below }, home.origin)
      })
    }
    function heard(e) {
      if (e.source !== frame.contentWindow || e.origin !== home.origin || !e.data) return
      if (e.data.holdfast === 'booked') notify('booked')
      if (e.data.holdfast !== 'height') return
      var height = Math.ceil(Number(e.data.height))
      if (e.data.title && !of('title')) frame.title = e.data.title // in the language of the page
      if (height > 0 && height < 20000) {
        frame.style.height = height + 'px'
        notify('height', height)
      }
      ours = true
      seen()
    }
    window.addEventListener('message', heard)
    document.addEventListener('scroll', seen, { capture: true, passive: true })
    window.addEventListener('resize', seen)
    frame.addEventListener('load', seen)
    insert(frame)
    return function () {
      window.removeEventListener('message', heard)
      document.removeEventListener('scroll', seen, { capture: true })
      window.removeEventListener('resize', seen)
      frame.remove()
    }
  }

  if (script.dataset.element === undefined) {
    show(
      function (frame) {
        script.parentNode.insertBefore(frame, script.nextSibling)
      },
      function (name) {
        return script.dataset[name]
      },
      function () {},
    )
    return
  }
  if (customElements.get('holdfast-booking')) return // a second script tag
  customElements.define(
    'holdfast-booking',
    class extends HTMLElement {
      static get observedAttributes() {
        return options.concat('title')
      }
      connectedCallback() {
        this.style.display = this.style.display || 'block'
        this.end = show(this.appendChild.bind(this), this.getAttribute.bind(this), (type, detail) =>
          this.dispatchEvent(new CustomEvent(type, { detail: detail })),
        )
      }
      disconnectedCallback() {
        if (this.end) this.end()
        this.end = null
      }
      attributeChangedCallback() {
        if (!this.end) return
        this.end()
        this.connectedCallback()
      }
    },
  )
})()
