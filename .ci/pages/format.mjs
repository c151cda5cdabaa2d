// Formats the scripts in a folder with Prettier, or lists those that it would change:
//
//   node format.mjs PRETTIER CONFIG check|write FOLDER
//
// Prettier reads <${Name}>…</${Name}> as two different tags and does not format such a template. Therefore this script
// replaces ${Name} with C__Name, which has the same length. With PRETTIER_DEBUG, a template that Prettier cannot read
// is an error.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

process.env.PRETTIER_DEBUG = '1'
const [at, config, mode, folder] = process.argv.slice(2)
const prettier = await import(pathToFileURL(resolve(at, 'index.mjs')).href)
const options = { ...JSON.parse(readFileSync(config, 'utf8')), parser: 'babel' }

const named = code => code.replace(/<(\/?)\$\{([\w.]+)\}/g, '<$1C__$2')
const original = code => code.replace(/<(\/?)C__([\w.]+)/g, '<$1${$2}')

let changed = 0
for (const name of readdirSync(folder, { recursive: true }).sort()) {
  if (!name.endsWith('.js') || name.startsWith('vendor')) continue
  const file = join(folder, name), code = readFileSync(file, 'utf8')
  const formatted = original(await prettier.format(named(code), options).catch(problem => {
    throw new Error(`${file}: ${problem.message}`)
  }))
  if (formatted === code) continue
  changed++
  if (mode === 'write') writeFileSync(file, formatted)
  else console.log(`Prettier would change ${file}`)
}
process.exitCode = mode === 'check' && changed ? 1 : 0
