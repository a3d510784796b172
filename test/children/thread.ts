/** A thread for src/platform/thread.test.ts: does what it is asked to. */

import { PrestigeError } from '../../src/platform/errors.ts'
import { serve } from '../../src/platform/thread.ts'

serve((request: string) => {
  if (request === 'fail') throw new PrestigeError('INPUT_CHANGED', 'a.jsonl has grown.')
  if (request === 'break') throw new TypeError('a mistake')
  if (request === 'die') process.exit(3)
  return `${request}!`
})
