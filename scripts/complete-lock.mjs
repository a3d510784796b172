/**
 * Adds to package-lock.json the optional platform packages that the registry at hand did not offer, and drops engine
 * ranges that npm would warn about although the tests run on Node 20 with the package.
 *
 * A mirror that holds the binaries of one platform only makes npm leave the others out of the lock, and
 * `npm ci` then refuses the lock as incomplete. With their names and versions in it (their platform says
 * who needs them), `npm ci` works here and elsewhere. Run it after every change of dependencies:
 * `npm run lock`.
 */

import { readFileSync, writeFileSync } from 'node:fs'

const OS = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
]
const CPU = [
  'arm',
  'arm64',
  'ia32',
  'loong64',
  'mips64el',
  'ppc64',
  'riscv64',
  's390x',
  'wasm32',
  'x64',
]

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const { packages } = lock
let added = 0
for (const [path, { optionalDependencies = {}, dev }] of Object.entries(packages)) {
  for (const [name, range] of Object.entries(optionalDependencies)) {
    const at = `node_modules/${name}`
    if (packages[at] || packages[`${path}/${at}`]) continue
    const words = name.split(/[/-]/)
    const os = OS.filter((one) => words.includes(one))
    const cpu = CPU.filter((one) => words.includes(one))
    packages[at] = {
      version: range.replace(/^[\^~]/, ''),
      ...(cpu.length > 0 && { cpu }),
      ...(dev && { dev }),
      optional: true,
      ...(os.length > 0 && { os }),
    }
    added++
  }
}
// It declares Node 22; its binary is of Node-API, and the tests of the graph index run on Node 20.
delete packages['node_modules/usearch']?.engines
const byPath = ([one], [other]) => (one < other ? -1 : 1)
lock.packages = Object.fromEntries(Object.entries(packages).toSorted(byPath))
writeFileSync('package-lock.json', `${JSON.stringify(lock, undefined, 2)}\n`)
console.log(`added ${added} platform packages`)
