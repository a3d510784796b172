import { readFileSync } from 'node:fs'

import { print } from './output.ts'

export async function printVersion(): Promise<number> {
  const file = new URL('../../package.json', import.meta.url)
  const { version }: { version: string } = JSON.parse(readFileSync(file, 'utf8'))
  await print(`${version}\n`)
  return 0
}
