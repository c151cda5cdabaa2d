// Reads the text of a file that another program wrote.

// textOf reads a file as UTF-8. If it is not valid UTF-8, textOf reads it as UTF-16, which Excel writes as Unicode
// text, or as Windows-1252, which older programs in Western countries write.
export async function textOf(file) {
  const bytes = await file.arrayBuffer(),
    [first, second] = new Uint8Array(bytes)
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}
