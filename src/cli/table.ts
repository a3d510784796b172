/** Aligns cells in columns. Keys go last, because how wide a terminal draws them cannot be known. */

export type Align = 'left' | 'right'

export function table(rows: readonly (readonly string[])[], aligns: readonly Align[]): string {
  const widths = aligns.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map((row) => {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0
      return aligns[column] === 'right' ? cell.padStart(width) : cell.padEnd(width)
    })
    return `  ${cells.join('  ')}`.trimEnd()
  })
  return `${lines.join('\n')}\n`
}
