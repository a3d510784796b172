/** Where in the console somebody is: `#/browse/KEY?prefix=…`. Parts of the path stay percent-encoded, as the API takes them. */

import { Observable } from './observable.ts'

export interface Place {
  readonly page: string
  /** Behind the page, percent-encoded. */
  readonly rest: readonly string[]
  readonly query: URLSearchParams
}

export const place: Observable<Place> = new Observable(placeOf(location.hash))
addEventListener('hashchange', () => place.set(placeOf(location.hash)))

export function placeOf(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  const [page = '', ...rest] = path.split('/')
  return { page: page || 'overview', rest, query: new URLSearchParams(query) }
}

export function hrefOf(
  page: string,
  rest: readonly string[] = [],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => !!entry[1])
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : ''
  return `#/${[page, ...rest].join('/')}${search}`
}

export function goTo(href: string, { replaces = false } = {}): void {
  if (!replaces) {
    location.hash = href
    return
  }
  history.replaceState(undefined, '', href)
  place.set(placeOf(href))
}
