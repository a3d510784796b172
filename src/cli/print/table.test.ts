import { expect, it } from 'vitest'

import { table } from './table.ts'

it('aligns cells that are bold or coloured as if they were not', () => {
  const bold = (text: string) => `\u001b[1m${text}\u001b[22m`
  const rows = (mark: (text: string) => string) => [
    ['documents', '1000', 'all'],
    ['kept', mark('7'), 'some'],
  ]
  const plain = table(
    rows((text) => text),
    ['left', 'right', 'left'],
  )
  const marked = table(rows(bold), ['left', 'right', 'left'])
  expect(marked.replace(bold('7'), '7')).toBe(plain)
})
