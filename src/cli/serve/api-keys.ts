/** `keys add|list|remove`: API keys in a file, which `serve --keys FILE` reads. */

import type { ApiKey, NewKey } from '../../server/index.ts'
import { usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { sizeGiven } from '../call/size-given.ts'
import { print, printJson } from '../print/output.ts'
import { table } from '../print/table.ts'
import { time } from '../print/units.ts'

export async function manageApiKeys(invocation: Invocation): Promise<number> {
  const action = invocation.operand(0)
  const perform = { add, list, remove }[action]
  if (!perform)
    throw usageFailure(`keys ${action}: there is keys add NAME, keys list and keys remove ID.`)
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
    ...given('requestsPerSecond', invocation.wholeNumber('requests-per-second')),
    ...given('bytesPerSecond', sizeGiven(invocation, 'bytes-per-second')),
  }
}

function given(name: string, value: number | undefined): Record<string, number> {
  return value === undefined ? {} : { [name]: value }
}

async function list(invocation: Invocation, file: string): Promise<number> {
  const { readKeys } = await import('../../server/index.ts')
  const keys = await readKeys(file)
  if (invocation.flag('json')) await printJson(keys.map(shown))
  else if (keys.length > 0)
    await print(table([['id', 'name', 'scope', 'namespaces', 'made'], ...keys.map(cells)], []))
  return 0
}

function cells({ id, name, scope, namespaces, createdAt }: ApiKey): string[] {
  return [
    id,
    name,
    scope,
    namespaces?.map((one) => one || '""').join(', ') ?? 'all',
    time(createdAt),
  ]
}

/** Without its hash, which is nobody's business. */
function shown(key: ApiKey): Omit<ApiKey, 'sha256'> {
  const { sha256, ...rest } = key
  return sha256 === '' ? key : rest
}

async function remove(invocation: Invocation, file: string): Promise<number> {
  const id = invocation.operand(1)
  const { readKeys, writeKeys } = await import('../../server/index.ts')
  const keys = await readKeys(file)
  const others = keys.filter((key) => key.id !== id && key.name !== id)
  if (others.length === keys.length) {
    throw usageFailure(
      `keys remove ${id}: ${file} has no such key. See prestige keys list --keys ${file}.`,
    )
  }
  await writeKeys(file, others)
  if (invocation.flag('json')) await printJson({ removed: keys.length - others.length })
  return 0
}
