/**
 * HTML and SVG in which everything is escaped that is not markup of ours. Documents come from anywhere: an id, a
 * source or a text can never become a tag, an attribute or a script.
 */

export class Markup {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}

/** `false` and `undefined` are nothing, so that a part can depend on a condition. */
export type Part = string | number | Markup | undefined | false | readonly Part[]

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] ?? '')
}

function rendered(part: Part): string {
  if (part === undefined || part === false) return ''
  if (typeof part === 'number') return String(part)
  if (typeof part === 'string') return escaped(part)
  return part instanceof Markup ? part.toString() : part.map(rendered).join('')
}

/** The only way to markup: what stands in the template is ours, what is put in is escaped. */
export function html(template: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(template.map((ours, at) => ours + rendered(parts[at])).join(''))
}
