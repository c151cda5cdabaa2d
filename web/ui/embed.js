// Puts the booking page into another site:
//   <script src="https://book.example.org/embed.js" data-type="checkup" data-lang="de" data-theme="light" async></script>
// The frame stands where the script tag stands. Only the frame's own height is taken from it.
(function () {
  'use strict'
  /** @type {any} */
  var script = document.currentScript
  if (!script) return
  var home = new URL(script.src)
  var url = new URL('/embed', home)
  ;['type', 'specialist', 'lang', 'theme'].forEach(function (name) {
    if (script.dataset[name]) url.searchParams.set(name, script.dataset[name])
  })
  var frame = document.createElement('iframe')
  frame.src = url.href
  frame.title = script.dataset.title || 'Book an appointment'
  frame.referrerPolicy = 'no-referrer'
  frame.style.cssText = 'display:block;width:100%;height:640px;border:0;background:transparent;color-scheme:' +
    ({ dark: 'dark', auto: 'light dark' }[script.dataset.theme] || 'light')
  window.addEventListener('message', function (e) {
    if (e.source !== frame.contentWindow || e.origin !== home.origin) return
    if (!e.data || e.data.holdfast !== 'height') return
    var height = Number(e.data.height)
    if (height > 0 && height < 20000) frame.style.height = Math.ceil(height) + 'px'
    ours = true
    seen()
  })
  // The frame is as high as what is in it, so it does not know how much of it is seen: it is told how much lies below the window.
  // Only once it has said its height: what the browser shows instead of a page that may not be framed has no ears, and the console says so.
  var waits = false, ours = false
  function seen() {
    if (waits || !ours) return
    waits = true
    requestAnimationFrame(function () {
      waits = false
      var below = Math.max(0, Math.round(frame.getBoundingClientRect().bottom - window.innerHeight))
      frame.contentWindow && frame.contentWindow.postMessage({ holdfast: 'seen', below: below }, home.origin)
    })
  }
  document.addEventListener('scroll', seen, { capture: true, passive: true })
  window.addEventListener('resize', seen)
  frame.addEventListener('load', seen)
  script.parentNode.insertBefore(frame, script.nextSibling)
})()
