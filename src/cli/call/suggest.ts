/** What somebody may have meant. */

import { nearest } from '../../platform/did-you-mean.ts'
import { type CommandName, commands } from '../declarations/index.ts'

/** Names other tools have for what our commands do. */
const OTHER_NAMES: Readonly<Record<string, CommandName>> = {
  set: 'put',
  add: 'put',
  cat: 'get',
  read: 'get',
  delete: 'del',
  remove: 'del',
  rm: 'del',
  exists: 'has',
  list: 'keys',
  ls: 'keys',
  size: 'count',
  info: 'stats',
  status: 'stats',
  compare: 'explain',
  diff: 'explain',
  gc: 'collect',
  clean: 'collect',
  vacuum: 'compact',
  shrink: 'compact',
  load: 'import',
  dump: 'export',
  check: 'verify',
  fsck: 'verify',
  threshold: 'tune',
  calibrate: 'tune',
  annotate: 'label',
  judge: 'label',
  dedup: 'dedupe',
  deduplicate: 'dedupe',
  revert: 'undo',
  rollback: 'undo',
  history: 'runs',
}

export function suggestCommand(typed: string): string | undefined {
  if (Object.hasOwn(OTHER_NAMES, typed)) return OTHER_NAMES[typed]
  return nearest(typed, [...Object.keys(commands), 'help'])
}
