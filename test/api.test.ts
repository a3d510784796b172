/** The public API: nothing enters or leaves it unnoticed, and every option says what it is. Reads dist. */

import { readFileSync } from 'node:fs'

import { describe, expect, it } from 'vitest'

import { apiListing, LISTING, publicExports, reachable } from '../scripts/make-api-listing.ts'

const exports = publicExports()
const root = exports.filter(({ subpath }) => subpath === '.')

describe('the public API', () => {
  it('is the one written down: npm run build && npx tsx scripts/make-api-listing.ts', () => {
    expect(apiListing().split('\n')).toEqual(readFileSync(LISTING, 'utf8').split('\n'))
  })

  it('is small enough to keep in mind', () => {
    expect(root.filter(({ isType }) => !isType).length).toBeLessThan(22)
    expect(root.filter(({ isType }) => isType).length).toBeLessThan(90)
  })

  it('mentions no type of the validator, however far one follows its types', () => {
    const all = reachable(exports)
    expect(all.length).toBeGreaterThan(exports.length)
    expect(all.filter(({ text }) => /\bv\.[A-Z]/.test(text)).map(({ name }) => name)).toEqual([])
  })

  // Options of engines are for their authors, who read the contract.
  const options = reachable(exports).filter(
    ({ name, text, path }) =>
      name.endsWith('Options') && text.startsWith('interface ') && !path.includes('/backends/'),
  )
  it.each(options.map(({ name, path }) => [name, path] as const))(
    '%s explains every field',
    (name, path) => {
      const text = readFileSync(path, 'utf8')
      const from = text.search(new RegExp(`interface ${name}\\b`))
      const body = text.slice(from, text.indexOf('\n}', from)).split('\n')
      const fields = body.filter((line) => /^ {4}(?:readonly )?\w+\??[:(]/.test(line))
      const bare = fields.filter((line) => !body[body.indexOf(line) - 1]?.endsWith('*/'))
      expect(bare).toEqual([])
    },
  )
})
