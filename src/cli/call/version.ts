import { versionOf } from '../../platform/version.ts'
import { print } from '../print/output.ts'

export async function printVersion(): Promise<number> {
  await print(`${versionOf()}\n`)
  return 0
}
