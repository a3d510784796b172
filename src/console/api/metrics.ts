/** What /metrics says of requests: how many, and how long they took, by route. */

export interface RouteTimes {
  readonly route: string
  readonly calls: number
  readonly p50Ms: number
  readonly p99Ms: number
}

interface Series {
  readonly buckets: { readonly le: number; readonly count: number }[]
}

const SAMPLE = /^prestige_http_request_duration_ms_bucket\{(?<labels>.*)\} (?<value>[\d.e+]+)$/

/** The routes of the API, the most used first; those that watch the server are left out. */
export function routeTimes(text: string): RouteTimes[] {
  const byRoute = new Map<string, Series>()
  for (const line of text.split('\n')) {
    const { labels = '', value = '0' } = SAMPLE.exec(line)?.groups ?? {}
    const path = label(labels, 'path')
    if (!path?.startsWith('/api/')) continue
    const route = `${label(labels, 'method') ?? ''} ${path.replace('/api/v1/', '')}`
    const series = byRoute.get(route) ?? { buckets: [] }
    const le = label(labels, 'le')
    series.buckets.push({ le: le === '+Inf' ? Infinity : Number(le), count: Number(value) })
    byRoute.set(route, series)
  }
  return [...byRoute]
    .map(([route, { buckets }]) => ({
      route,
      calls: buckets.at(-1)?.count ?? 0,
      p50Ms: quantile(buckets, 0.5),
      p99Ms: quantile(buckets, 0.99),
    }))
    .toSorted((a, b) => b.calls - a.calls)
}

function label(labels: string, name: string): string | undefined {
  return new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1]
}

/** Within its bucket, a time is taken to be anywhere alike. */
function quantile(buckets: Series['buckets'], share: number): number {
  const wanted = (buckets.at(-1)?.count ?? 0) * share
  let [below, countBelow] = [0, 0]
  for (const { le, count } of buckets) {
    if (count >= wanted)
      return le === Infinity
        ? below
        : below + ((wanted - countBelow) / Math.max(1, count - countBelow)) * (le - below)
    below = le
    countBelow = count
  }
  return below
}
