/** Aligns cells in columns. Keys go last, because how wide a terminal draws them cannot be known. */

import { stripVTControlCharacters } from 'node:util'

export type Align = 'left' | 'right'

export function table(rows: readonly (readonly string[])[], aligns: readonly Align[]): string {
  const widths = aligns.map((_, column) =>
    Math.max(...rows.map((row) => widthOf(row[column] ?? ''))),
  )
  const lines = rows.map((row) => {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0
      const space = ' '.repeat(Math.max(0, width - widthOf(cell)))
      return aligns[column] === 'right' ? space + cell : cell + space
    })
    return `  ${cells.join('  ')}`.trimEnd()
  })
  return `${lines.join('\n')}\n`
}

/** Codes that make a cell bold or coloured take no room. */
function widthOf(cell: string): number {
  return cell.includes('\u001b') ? stripVTControlCharacters(cell).length : cell.length
}
