// Two short notes for news at the desk, without an audio file. A browser plays them only after the user has clicked or
// pressed a key on the page.
let audio
export function beep() {
  try {
    audio ??= new AudioContext()
    audio.resume().catch(() => {})
    for (const [i, hz] of [660, 880].entries()) {
      const note = audio.createOscillator(),
        gain = audio.createGain(),
        at = audio.currentTime + i * 0.16
      note.frequency.value = hz
      gain.gain.setValueAtTime(0.0001, at)
      gain.gain.exponentialRampToValueAtTime(0.12, at + 0.02)
      gain.gain.exponentialRampToValueAtTime(0.0001, at + 0.15)
      note.connect(gain).connect(audio.destination)
      note.start(at)
      note.stop(at + 0.16)
    }
  } catch {
    /* no sound device: the badge shows the news */
  }
}
