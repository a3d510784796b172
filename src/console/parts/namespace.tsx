/** Which namespace all pages are about. */

import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { Observable, useObserved } from '../state/observable.ts'
import { namespace } from '../state/session.ts'

/** Those that the overview has found. */
export const knownNamespaces: Observable<readonly string[]> = new Observable<readonly string[]>([])

export function NamespaceChooser(): JSX.Element {
  const chosen = useObserved(namespace)
  const known = useObserved(knownNamespaces)
  const [text, setText] = useState(chosen)
  useEffect(() => setText(chosen), [chosen])
  const choose = (event: Event) => {
    event.preventDefault()
    namespace.set(text.trim())
  }
  return (
    <form class="namespace" onSubmit={choose}>
      <label for="namespace">Namespace</label>
      <input
        id="namespace"
        list="namespaces"
        placeholder="(default)"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onChange={choose}
      />
      <datalist id="namespaces">
        {known.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </form>
  )
}
