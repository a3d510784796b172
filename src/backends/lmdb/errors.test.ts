import { describe, expect, it } from 'vitest'

import { engineError } from './errors.ts'

describe('an error of LMDB', () => {
  it.each([
    'MDB_CORRUPTED: Located page was wrong type',
    'MDB_PAGE_NOTFOUND: Requested page not found',
    'MDB_INVALID: File is not an LMDB file',
  ])('%s is corruption, which no retry heals', (message) => {
    expect(engineError(new Error(message))).toMatchObject({
      code: 'CONTENT_CORRUPT',
      kind: 'corrupt',
      retryable: false,
    })
  })

  it('about a full disk may pass', () => {
    expect(engineError(new Error('No space left on device')).code).toBe('BACKEND_FULL')
  })

  it('of any other kind may pass', () => {
    expect(engineError(new Error('MDB_READERS_FULL: too many readers'))).toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      retryable: true,
    })
  })
})
