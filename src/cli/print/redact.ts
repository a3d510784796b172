/**
 * Keeps passwords out of what the command line prints.
 *
 * Two texts differ: diagnostics lose the secrets of every URL in them; results lose only those of the locations this
 * call was given, because a key or a document may be a URL itself and has to be printed as it is stored.
 */

import { withoutSecrets, withoutSecretsInText } from '../../backends/index.ts'

/** Each with how it is shown. */
type Hidden = readonly (readonly [given: string, shown: string])[]

const OWN_LOCATION = /^(?:rediss?(?:\+cluster)?|valkeys?|dynamodb):/i

let known: { readonly argv: readonly string[]; readonly hidden: Hidden } | undefined

export function redactedResult(text: string): string {
  const { argv } = process
  if (known?.argv !== argv) known = { argv, hidden: hiddenOf(argv.slice(2), process.env) }
  return replaced(text, known.hidden)
}

export function redactedDiagnostic(text: string): string {
  return withoutSecretsInText(redactedResult(text))
}

/** Locations are values of options and variables. As an operand, anything but a location of ours may be a key. */
export function hiddenOf(args: readonly string[], env: Readonly<NodeJS.ProcessEnv>): Hidden {
  const given = new Set<string>()
  args.forEach((arg, at) => {
    const inline = /^--?[\w-]+=(.*)$/s.exec(arg)?.[1]
    const isValue = args[at - 1]?.startsWith('-')
    if (inline !== undefined) given.add(inline)
    else if (isValue || OWN_LOCATION.test(arg)) given.add(arg)
  })
  for (const [name, value] of Object.entries(env)) {
    if (name.startsWith('PRESTIGE_') && value !== undefined) given.add(value)
  }
  return [...given]
    .map((location) => [location, withoutSecrets(location)] as const)
    .filter(([location, shown]) => location !== shown)
    .flatMap(
      ([location, shown]) =>
        [
          [location, shown],
          [inJson(location), inJson(shown)],
        ] as const,
    )
}

export function replaced(text: string, pairs: Hidden): string {
  return pairs.reduce((so, [location, shown]) => so.replaceAll(location, () => shown), text)
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
