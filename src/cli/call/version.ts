import { readFileSync } from 'node:fs'

import { print } from '../print/output.ts'

export async function printVersion(): Promise<number> {
  await print(`${versionOf()}\n`)
  return 0
}

export function versionOf(): string {
  const file = new URL('../../../package.json', import.meta.url)
  const { version }: { version: string } = JSON.parse(readFileSync(file, 'utf8'))
  return version
}
