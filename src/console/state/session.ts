/** Who calls, in which namespace, and how the console looks. A key is kept for this tab alone, until it is closed. */

import { Observable } from './observable.ts'

export const apiKey: Observable<string> = kept(sessionStorage, 'prestige.key', '')
export const namespace: Observable<string> = kept(sessionStorage, 'prestige.namespace', '')
/** The threshold that was chosen by tuning: runs and comparisons begin with it. */
export const chosenThreshold: Observable<string> = kept(sessionStorage, 'prestige.threshold', '')
export const theme: Observable<string> = kept(localStorage, 'prestige.theme', '')
/** The server has asked for a key: nothing else can be shown. */
export const isKeyNeeded: Observable<boolean> = new Observable(false)

function kept(storage: Storage, name: string, absent: string): Observable<string> {
  const observable = new Observable(storage.getItem(name) ?? absent)
  observable.watch((value) => {
    if (value === '') storage.removeItem(name)
    else storage.setItem(name, value)
  })
  return observable
}

export function isDark(): boolean {
  if (theme.value !== '') return theme.value === 'dark'
  return matchMedia('(prefers-color-scheme: dark)').matches
}

export function switchTheme(): void {
  theme.set(isDark() ? 'light' : 'dark')
}

/** The system's setting holds until the switch has been used. */
export function applyTheme(): void {
  const apply = (value: string) => {
    if (value === '') delete document.documentElement.dataset['theme']
    else document.documentElement.dataset['theme'] = value
  }
  apply(theme.value)
  theme.watch(apply)
}
