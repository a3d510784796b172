/** One call of the command line, read and checked: which command, on what, with which options. */

import type { CommandName, OptionName } from '../declarations/index.ts'
import { usageFailure } from './failure.ts'
import { bytesOfNotation } from '../print/key-notation.ts'

export type OptionValues = Readonly<Partial<Record<OptionName, string | true>>>

export class Invocation {
  readonly command: CommandName
  readonly operands: readonly string[]
  /** Aborted when the user wants to stop. */
  readonly signal: AbortSignal
  /** All was done before a signal could stop it, so its exit code counts. */
  isComplete = false
  readonly #values: OptionValues

  constructor(
    command: CommandName,
    operands: readonly string[],
    values: OptionValues,
    signal: AbortSignal,
  ) {
    this.command = command
    this.operands = operands
    this.signal = signal
    this.#values = values
  }

  /** All that were given, in the order in which they were. */
  get options(): OptionValues {
    return this.#values
  }

  flag(name: OptionName): boolean {
    return this.#values[name] === true
  }

  text(name: OptionName): string | undefined {
    const value = this.#values[name]
    return value === true ? undefined : value
  }

  /** How many operands there are was checked when they were read. */
  operand(index: number): string {
    return this.operands[index] ?? ''
  }

  /** A key as it was typed; with `--escaped` its notation is undone. */
  key(typed: string): string | Buffer {
    return this.flag('escaped') ? bytesOfNotation(typed) : typed
  }

  keyOption(name: OptionName): string | Buffer | undefined {
    const typed = this.text(name)
    return typed === undefined ? undefined : this.key(typed)
  }

  /** Greater than 0 and at most 1. */
  share(name: OptionName): number | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const number = Number(text)
    if (/^\d*\.?\d+$/.test(text) && number > 0 && number <= 1) return number
    throw usageFailure(`--${name} ${text}: must be a number greater than 0 and at most 1.`)
  }

  wholeNumber(name: OptionName): number | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const number = Number(text)
    if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number
    throw usageFailure(`--${name} ${text}: must be a whole number.`)
  }
}
