/** Numbers for people. JSON output has the exact ones. */

const BYTE_UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** `512 B`, `1.5 KiB`, `131 MiB`. */
export function size(bytes: number): string {
  if (bytes < 1024) return `${Math.round(bytes)} B`
  let amount = bytes / 1024
  let unit = 0
  while (amount >= 999.5 && unit < BYTE_UNITS.length - 1) {
    amount /= 1024
    unit++
  }
  return `${amount.toFixed(amount < 99.95 ? 1 : 0)} ${BYTE_UNITS[unit]}`
}

/** `1,204,000`. */
export function count(number: number): string {
  return String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}

/** `1 file`, `3 files`. */
export function countOf(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`
}

/** `0.8 s`, `3 min 05 s`, `2 h 03 min`. */
export function duration(ms: number): string {
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`
  const minutes = Math.round(seconds / 60)
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`
}

function two(number: number): string {
  return String(number).padStart(2, '0')
}

export function rate(bytes: number, ms: number): string {
  return `${size((bytes / Math.max(ms, 1)) * 1000)}/s`
}

/** `1.49×`; when everything was there already, nothing can be divided by. */
export function ratio(bytes: number, bytesKept: number): string {
  if (bytes === 0) return '1.00×'
  return bytesKept === 0 ? 'all of it' : `${(bytes / bytesKept).toFixed(2)}×`
}

export function time(ms: number): string {
  return new Date(ms).toISOString()
}
