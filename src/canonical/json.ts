/**
 * The `json` profile: documents with the same content are the same, whatever their layout (RFC
 * 8785).
 *
 * Reads strictly and writes canonical text in the same pass; no JavaScript object is ever built, so
 * neither `__proto__` nor the order of integer-like names can go wrong.
 *
 * Invariant: two documents that a careful reader could distinguish never become the same. Hence
 * duplicate names, lone surrogates and integers that a double cannot hold are refused, where
 * JSON.parse silently keeps the last, the half or the neighbour. Nothing but RFC 8259 passes: no
 * byte order mark, comment or trailing comma.
 *
 * Not here: writing JSON for any other purpose, and how numbers are written (`json-number.ts`).
 */

import { canonicalNumber } from './json-number.ts'
import { unreadable } from './unreadable.ts'
import { decodeUtf8, encodeUtf8, requireUtf8, textBytesMax } from './utf8.ts'

/** Deep enough for any real document, and less than half of what Node's default stack can hold. */
export const jsonDepthMax = 1000

const loneSurrogate = /\p{Surrogate}/u

interface Member {
  readonly name: string
  readonly text: string
  readonly at: number
}

export function jsonForm(bytes: Uint8Array): Uint8Array {
  requireUtf8(bytes, 'json')
  if (bytes.length > textBytesMax) {
    throw unreadable('json', `it is longer than ${textBytesMax} bytes`)
  }
  return encodeUtf8(new JsonReader(decodeUtf8(bytes)).document())
}

/** Reads one document from front to back. Every method returns canonical text and moves past it. */
class JsonReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): string {
    if (this.#text.startsWith('\ufeff')) throw this.#problem('a byte order mark is not JSON', 0)
    const text = this.#value(0)
    this.#skipSpace()
    if (this.#at < this.#text.length) throw this.#unexpected('the end')
    return text
  }

  #value(depth: number): string {
    this.#skipSpace()
    switch (this.#text[this.#at] ?? '') {
      case '{':
        return this.#object(this.#deeper(depth))
      case '[':
        return this.#array(this.#deeper(depth))
      case '"':
        return this.#string().text
      case 't':
        return this.#word('true')
      case 'f':
        return this.#word('false')
      case 'n':
        return this.#word('null')
      default:
        return this.#number()
    }
  }

  // Texts are added up with +, never joined: V8 then copies each of them once, at the very end, and
  // not once for every level around it.

  #object(depth: number): string {
    const members: Member[] = []
    this.#at++
    if (this.#takes('}')) return '{}'
    do members.push(this.#member(depth))
    while (this.#takes(','))
    if (!this.#takes('}')) throw this.#unexpected("',' or '}'")
    let text = ''
    for (const member of this.#sorted(members)) text += (text === '' ? '{' : ',') + member.text
    return text + '}'
  }

  #member(depth: number): Member {
    this.#skipSpace()
    const at = this.#at
    if (this.#text[at] !== '"') throw this.#unexpected('a member name in double quotes')
    const { value: name, text } = this.#string()
    if (!this.#takes(':')) throw this.#unexpected("':'")
    return { name, text: text + ':' + this.#value(depth), at }
  }

  /** By UTF-16 units, which is how JavaScript compares strings and what RFC 8785 asks for. */
  #sorted(members: readonly Member[]): readonly Member[] {
    const sorted = members.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    for (let index = 1; index < sorted.length; index++) {
      const member = sorted[index]
      if (member !== undefined && member.name === sorted[index - 1]?.name) {
        throw this.#problem(`the member name ${quoted(member.name)} is used twice`, member.at)
      }
    }
    return sorted
  }

  #array(depth: number): string {
    this.#at++
    if (this.#takes(']')) return '[]'
    let text = '[' + this.#value(depth)
    while (this.#takes(',')) text += ',' + this.#value(depth)
    if (!this.#takes(']')) throw this.#unexpected("',' or ']'")
    return text + ']'
  }

  #string(): { readonly value: string; readonly text: string } {
    const start = this.#at
    const escaped = this.#skipString()
    const text = this.#text.slice(start, this.#at)
    if (!escaped) return { value: text.slice(1, -1), text }
    const value = this.#unescape(text, start)
    if (loneSurrogate.test(value)) throw this.#problem('a string has half a surrogate pair', start)
    // JSON.stringify writes strings as RFC 8785 does: that RFC took its rules from ECMAScript.
    return { value, text: JSON.stringify(value) }
  }

  /** Moves past the closing quote and says whether there were escapes, yet unchecked. */
  #skipString(): boolean {
    let escaped = false
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      const unit = this.#text.charCodeAt(at)
      if (unit === 0x22) {
        this.#at = at + 1
        return escaped
      }
      if (unit < 0x20) throw this.#problem('a string has a control character', at)
      if (unit === 0x5c) {
        escaped = true
        at++
      }
    }
    throw this.#problem('a string does not end', this.#at)
  }

  #unescape(text: string, start: number): string {
    try {
      return String(JSON.parse(text))
    } catch {
      // Node's own message counts from the start of this string and would only mislead.
      throw this.#problem('a string has an unknown escape', start)
    }
  }

  #number(): string {
    const start = this.#at
    if (this.#text[this.#at] === '-') this.#at++
    const whole = this.#at
    this.#digits()
    if (this.#text[whole] === '0' && this.#at > whole + 1) {
      throw this.#problem('a number starts with a needless zero', start)
    }
    if (this.#text[this.#at] === '.') {
      this.#at++
      this.#digits()
    }
    if (this.#isNext('eE')) {
      this.#at++
      if (this.#isNext('+-')) this.#at++
      this.#digits()
    }
    const { text, problem } = canonicalNumber(this.#text.slice(start, this.#at))
    if (problem !== undefined) throw this.#problem(problem, start)
    return text
  }

  #digits(): void {
    const start = this.#at
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at++
    if (this.#at === start) throw this.#unexpected(start === 0 ? 'a value' : 'a value or a digit')
  }

  #word(word: string): string {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected('a value')
    this.#at += word.length
    return word
  }

  #isNext(units: string): boolean {
    const next = this.#text[this.#at]
    return next !== undefined && units.includes(next)
  }

  #takes(mark: string): boolean {
    this.#skipSpace()
    if (this.#text[this.#at] !== mark) return false
    this.#at++
    return true
  }

  #skipSpace(): void {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++
  }

  #deeper(depth: number): number {
    if (depth < jsonDepthMax) return depth + 1
    throw this.#problem(`it is nested deeper than ${jsonDepthMax} levels`, this.#at)
  }

  #unexpected(wanted: string): Error {
    const next = this.#text.codePointAt(this.#at)
    const found = next === undefined ? 'the value ends' : quoted(String.fromCodePoint(next))
    return this.#problem(`expected ${wanted} and found ${found}`, this.#at)
  }

  #problem(problem: string, at: number): Error {
    const byte = Buffer.byteLength(this.#text.slice(0, at))
    return unreadable('json', `${problem}, at byte ${byte}`)
  }
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39
}

/** The four characters of RFC 8259, which are fewer than the other profiles know. */
function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09
}

/** Short enough for a message, and safe for a terminal. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 40 ? text.slice(0, 40) + '…' : text)
}
