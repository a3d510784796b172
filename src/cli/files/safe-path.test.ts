import { describe, expect, it } from 'vitest'

import { DirectoryCheck, unsafeReason } from './safe-path.ts'

describe('a safe path', () => {
  it.each(['a', 'a/b', '.hidden', '...', '..a/b..', '-dash', 'new\nline', 'a\\b', 'c:', '世/界'])(
    'may be %j',
    (key) => {
      expect(unsafeReason(Buffer.from(key), 'linux')).toBeUndefined()
    },
  )

  it('may hold bytes that are not UTF-8', () => {
    expect(unsafeReason(Buffer.from([0xff, 0x2f, 0xfe]), 'linux')).toBeUndefined()
  })

  it.each([
    ['', 'nothing is left'],
    ['/etc/passwd', 'absolute'],
    ['..', 'segment ".."'],
    ['a/../../b', 'segment ".."'],
    ['./a', 'segment "."'],
    ['a//b', 'empty segment'],
    ['a/', 'empty segment'],
    ['a\0b', 'NUL'],
    [`a/${'x'.repeat(256)}`, 'more than 255 bytes'],
  ])('is not %j', (key, reason) => {
    expect(unsafeReason(Buffer.from(key), 'linux')).toContain(reason)
  })

  it.each(['a\\..\\b', 'c:/x', 'nul', 'COM1.txt', 'x/dot.', 'space ', 'what?', 'new\nline'])(
    'is not %j on Windows',
    (key) => {
      expect(unsafeReason(Buffer.from(key), 'win32')).toContain('Windows')
    },
  )
})

describe('a key that is another key’s directory', () => {
  const conflicts = (keys: readonly string[]) => {
    const check = new DirectoryCheck()
    const sorted = keys.map((key) => Buffer.from(key)).toSorted((a, b) => a.compare(b))
    return sorted.flatMap((key) => {
      const directory = check.add(key)
      return directory ? [`${String(directory)} < ${String(key)}`] : []
    })
  }

  it('is found however many keys lie between the two', () => {
    expect(conflicts(['a', 'a!', 'a-b', 'a-b/c', 'a.b', 'a/b', 'a/c/d', 'b'])).toEqual([
      'a-b < a-b/c',
      'a < a/b',
      'a < a/c/d',
    ])
  })

  it('is not seen where there is none', () => {
    expect(conflicts(['a', 'ab', 'ab.c', 'b/a', 'b/b', 'c/d/e', 'c/de'])).toEqual([])
  })
})
