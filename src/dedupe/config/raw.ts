/** Settings before they are read: names and whatever was said. */

export type Raw = { readonly [name: string]: unknown }

/** Sections are merged name by name; a list replaces a list. */
export function mergeRaw(under: Raw, over: Raw): Raw {
  const merged: Record<string, unknown> = { ...under }
  for (const [name, value] of Object.entries(over)) {
    if (value === undefined) continue
    const below = merged[name]
    merged[name] = isRaw(below) && isRaw(value) ? mergeRaw(below, value) : value
  }
  return merged
}

export function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `{ near: { threshold: 0.9 } }`. */
export function nested(path: readonly string[], value: unknown): Raw {
  return path.toReversed().reduce<unknown>((inner, name) => ({ [name]: inner }), value) as Raw // safe: a path has a name
}
