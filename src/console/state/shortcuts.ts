/** Keys that do something. They do nothing while somebody types, and none of them needs a modifier. */

import { useEffect } from 'preact/hooks'

export interface Shortcut {
  readonly key: string
  readonly does: string
  readonly action: () => void
}

const active = new Set<readonly Shortcut[]>()

/** All that hold on this page, those of the page behind those of the console. */
export function shortcutsNow(): readonly Shortcut[] {
  return [...active].flat()
}

export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  useEffect(() => {
    active.add(shortcuts)
    return () => void active.delete(shortcuts)
  })
}

export function listenForShortcuts(): void {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    if (document.querySelector('dialog[open]')) return
    const found = shortcutsNow().find(({ key }) => key === event.key)
    if (!found) return
    event.preventDefault()
    found.action()
  })
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement)
    return !['checkbox', 'radio', 'range', 'file', 'button'].includes(target.type)
  return target.isContentEditable || target.matches('textarea, select')
}
