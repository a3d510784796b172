/** `keys add|list|remove`: API keys in a file, which `serve --keys FILE` reads. */

import type { ApiKey, NewKey } from '../../server/index.ts'
import { usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { sizeGiven } from '../call/size-given.ts'
import { print, printJson } from '../print/output.ts'
import { type Align, table } from '../print/table.ts'
import { count, size, time } from '../print/units.ts'

export async function manageApiKeys(invocation: Invocation): Promise<number> {
  const action = invocation.operand(0)
  const perform = { add, list, remove }[action]
  if (!perform)
    throw usageFailure(`keys ${action}: there is keys add NAME, keys list and keys remove NAME.`)
  const file = invocation.text('keys')
  if (!file) throw usageFailure('Give --keys FILE: the file that has the API keys.')
  return perform(invocation, file)
}

async function add(invocation: Invocation, file: string): Promise<number> {
  const name = invocation.operand(1)
  if (!name) throw usageFailure('keys add NAME: the name says who has the key.')
  const { makeKey, readKeys, writeKeys } = await import('../../server/index.ts')
  const { key, secret } = makeKey({ name, ...allowed(invocation) }, Date.now())
  await writeKeys(file, [...(await readKeys(file)), key])
  if (invocation.flag('json')) await printJson({ ...shown(key), key: secret })
  else await print(`${secret}\n`)
  return 0
}

function allowed(invocation: Invocation): Omit<NewKey, 'name'> {
  const namespaces = invocation.text('namespaces')
  // safe: the declaration of the option has these choices
  const scope = (invocation.text('scope') ?? 'read') as NewKey['scope']
  return {
    scope,
    ...(namespaces !== undefined && { namespaces: namespaces.split(',') }),
    ...rate(
      'requestsPerSecond',
      'requests-per-second',
      invocation.wholeNumber('requests-per-second'),
    ),
    ...rate('bytesPerSecond', 'bytes-per-second', sizeGiven(invocation, 'bytes-per-second')),
  }
}

function rate(name: string, option: string, value: number | undefined): Record<string, number> {
  if (value === undefined) return {}
  if (value > 0) return { [name]: value }
  throw usageFailure(
    `--${option} 0: a key with it could do nothing. Without --${option} there is no limit.`,
  )
}

async function list(invocation: Invocation, file: string): Promise<number> {
  const { readKeys } = await import('../../server/index.ts')
  const keys = await readKeys(file)
  if (invocation.flag('json')) await printJson(keys.map(shown))
  else if (keys.length > 0) await print(table([HEAD, ...keys.map(cells)], ALIGNS))
  return 0
}

const HEAD = ['id', 'name', 'scope', 'requests/s', 'bytes/s', 'made', 'namespaces']
const ALIGNS: readonly Align[] = ['left', 'left', 'left', 'right', 'right', 'left', 'left']

function cells(key: ApiKey): string[] {
  const { id, name, scope, namespaces, requestsPerSecond, bytesPerSecond, createdAt } = key
  return [
    id,
    name,
    scope,
    requestsPerSecond === undefined ? 'any' : count(requestsPerSecond),
    bytesPerSecond === undefined ? 'any' : size(bytesPerSecond),
    time(createdAt),
    namespaces?.map((one) => one || '""').join(', ') ?? 'all',
  ]
}

/** Without its hash, which is nobody's business. */
function shown(key: ApiKey): Omit<ApiKey, 'sha256'> {
  const { sha256, ...rest } = key
  return sha256 === '' ? key : rest
}

/** By name, or by id, which tells keys of one name apart. */
async function remove(invocation: Invocation, file: string): Promise<number> {
  const asked = invocation.operand(1)
  if (!asked) throw usageFailure('keys remove NAME: the name, or the id, of the key.')
  const { readKeys, writeKeys } = await import('../../server/index.ts')
  const keys = await readKeys(file)
  const byId = keys.filter(({ id }) => id === asked)
  const [found, ...more] = byId.length > 0 ? byId : keys.filter(({ name }) => name === asked)
  if (!found) {
    throw usageFailure(
      `keys remove ${asked}: ${file} has no such key. See prestige keys list --keys ${file}.`,
    )
  }
  if (more.length > 0) {
    const ids = [found, ...more].map(({ id }) => id).join(', ')
    throw usageFailure(
      `keys remove ${asked}: ${more.length + 1} keys have this name. Give the id of one: ${ids}.`,
    )
  }
  await writeKeys(
    file,
    keys.filter((key) => key !== found),
  )
  const { id, name } = found
  if (invocation.flag('json')) await printJson({ removed: { id, name } })
  else await print(`removed ${name} (${id}); a running server notices it with SIGHUP\n`)
  return 0
}
