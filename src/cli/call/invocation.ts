/** One call of the command line, read and checked: which command, on what, with which options. */

import type { CommandName, OptionName } from '../declarations/index.ts'
import { usageFailure } from './failure.ts'
import { bytesOfNotation } from '../print/key-notation.ts'

export type OptionValues = Readonly<Partial<Record<OptionName, string | true>>>
export type TypedNames = Readonly<Partial<Record<OptionName, string>>>

export class Invocation {
  readonly command: CommandName
  /** Aborted when the user wants to stop. */
  readonly signal: AbortSignal
  /** All was done before a signal could stop it, so its exit code counts. */
  isComplete = false
  #operands: readonly string[]
  #values: OptionValues
  readonly #typed: TypedNames

  /** `typed`: what options were called that have several names. */
  constructor(
    command: CommandName,
    operands: readonly string[],
    values: OptionValues,
    signal: AbortSignal,
    typed: TypedNames = {},
  ) {
    this.command = command
    this.#operands = operands
    this.signal = signal
    this.#values = values
    this.#typed = typed
  }

  get operands(): readonly string[] {
    return this.#operands
  }

  /** Takes from elsewhere, such as a config file, what was not typed. */
  complete(operands: readonly string[], values: OptionValues): void {
    if (this.#operands.length === 0) this.#operands = operands
    this.#values = { ...values, ...this.#values }
  }

  /** `--threshold`, or what was typed in its place. */
  typedName(name: OptionName): string {
    return this.#typed[name] ?? `--${name}`
  }

  isTyped(name: OptionName): boolean {
    return this.#typed[name] !== undefined
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
    throw usageFailure(
      `${this.typedName(name)} ${text}: must be a number greater than 0 and at most 1.`,
    )
  }

  wholeNumber(name: OptionName): number | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const number = Number(text)
    if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number
    throw usageFailure(`${this.typedName(name)} ${text}: must be a whole number.`)
  }
}
