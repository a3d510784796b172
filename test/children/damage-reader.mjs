/**
 * Reads a store whose file is damaged: every key, verify, salvage. Arguments: directory, target of the salvage, number of
 * keys. Prints what could not be read, or what went wrong.
 */

import { openStore } from '../../dist/index.js'
import { salvageStore, verifyStore } from '../../dist/store/verify-location.js'

const [directory, target, count] = process.argv.slice(2)

function valueOf(n) {
  const length = [10, 300, 1500, 3000, 4096, 9000, 70_000][n % 7] ?? 10
  return `value ${n % 300} `.padEnd(length, `${n % 300}.`)
}

const faults = []
const readable = new Set()
let unreadable = 0
const isNamed = (error) => ['CONTENT_CORRUPT', 'FORMAT_UNSUPPORTED'].includes(error.code)
const noted = (what, error) => {
  unreadable++
  if (!isNamed(error)) faults.push(`${what}: ${error.code} ${error.message}`)
}

try {
  const store = await openStore(directory, { readOnly: true })
  for (let n = 0; n < Number(count); n++) {
    try {
      const value = await store.getText(`key ${n}`)
      if (value === valueOf(n)) readable.add(`key ${n}`)
      else faults.push(`key ${n} reads as ${value === undefined ? 'missing' : 'something else'}`)
    } catch (error) {
      noted(`get key ${n}`, error)
    }
  }
  await store.close()
} catch (error) {
  noted('open', error)
}

let isSound = false
try {
  const report = await verifyStore(directory, {})
  isSound = report.isSound
} catch (error) {
  noted('verify', error)
}
if (isSound && readable.size < Number(count))
  faults.push('verify says sound, and keys cannot be read')

let lost = 0
try {
  const salvaged = await salvageStore(directory, target)
  lost = salvaged.lost
  const copy = await openStore(target, { create: false })
  for (const key of readable) {
    if ((await copy.getText(key)) !== valueOf(Number(key.slice(4))))
      faults.push(`${key} was not salvaged`)
  }
  await copy.close()
  if (unreadable > 0 && lost === 0 && salvaged.keys < Number(count))
    faults.push('a loss was not reported')
} catch (error) {
  if (readable.size > 0 || !isNamed(error)) faults.push(`salvage: ${error.code} ${error.message}`)
}
console.log(
  JSON.stringify(
    faults.length > 0 ? { fault: faults.slice(0, 3).join('; ') } : { unreadable, lost },
  ),
)
