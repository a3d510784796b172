/**
 * Runs programs one after another in this process, so that what they import is loaded once: each in the directory its
 * file is in. Prints a line of JSON for each. What one prints after its end is found in the output of the next one, and
 * whatever one leaves open keeps this process from ending.
 */

import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'

const write = process.stdout.write.bind(process.stdout)
let out = ''
process.stdout.write = (text) => {
  out += text
  return true
}

for (const path of process.argv.slice(2)) {
  process.chdir(dirname(path))
  let error
  try {
    await import(pathToFileURL(path).href)
    if (process.exitCode) error = `It ends with ${process.exitCode}.`
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.stack : String(thrown)
  }
  process.exitCode = 0
  write(`${JSON.stringify({ path, out, error })}\n`)
  out = ''
}
process.stdout.write = write
