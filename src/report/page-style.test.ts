import { describe, expect, it } from 'vitest'

import { PAGE_STYLE } from './page-style.ts'

type Colour = readonly [number, number, number]

/** The variables of light, dark and paper, each with those of light where it has none of its own. */
function themes(): Record<string, Record<string, string>> {
  const blocks = [...PAGE_STYLE.matchAll(/:root \{([^}]*)\}/g)].map(([, block = '']) =>
    Object.fromEntries(
      [...block.matchAll(/--([\w-]+): ([^;]+);/g)].map(([, name, value]) => [name, value]),
    ),
  )
  const [light = {}, dark = {}, paper = {}] = blocks
  expect(blocks).toHaveLength(3)
  return { light, dark: { ...light, ...dark }, paper: { ...light, ...paper } }
}

function colourOf(hex: string | undefined): Colour {
  const digits = /^#([0-9a-f]{6})$/.exec(hex ?? '')?.[1]
  expect(digits, `${hex} is a colour`).toBeDefined()
  const number = Number.parseInt(digits ?? '', 16)
  return [number >> 16, (number >> 8) & 255, number & 255]
}

/** WCAG 2: the contrast of text and ground, from 1 to 21. */
function contrast(one: Colour, other: Colour): number {
  const [light, dark] = [luminance(one), luminance(other)].toSorted((a, b) => b - a)
  return ((light ?? 0) + 0.05) / ((dark ?? 0) + 0.05)
}

function luminance(colour: Colour): number {
  const [red, green, blue] = colour.map((part) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0)
}

/** What is seen where one lies over the other. */
function over(top: Colour, ground: Colour, opacity: number): Colour {
  const mixed = top.map((part, at) => part * opacity + (ground[at] ?? 0) * (1 - opacity))
  return [mixed[0] ?? 0, mixed[1] ?? 0, mixed[2] ?? 0]
}

describe('colours of the page', () => {
  it.each(['light', 'dark', 'paper'])('can be read on every shade of a heat map: %s', (name) => {
    const { ink, panel, heat, soft, 'heat-max': most } = themes()[name]!
    expect(PAGE_STYLE).toContain('svg .small.on-heat { fill: var(--ink) }')
    expect(PAGE_STYLE).toContain('fill-opacity: calc(var(--share) * var(--heat-max))')
    expect(Number(most)).toBeGreaterThan(0.3)
    for (let share = 0; share <= 1; share += 0.01) {
      const cell = over(colourOf(heat), colourOf(panel), share * Number(most))
      expect(contrast(colourOf(ink), cell), `at ${share}`).toBeGreaterThanOrEqual(4.5)
    }
    // The dot of an empty cell.
    expect(contrast(colourOf(soft), colourOf(panel))).toBeGreaterThanOrEqual(4.5)
  })

  it.each(['light', 'dark', 'paper'])(
    'of text can be read on the page and on panels: %s',
    (name) => {
      const { ink, soft, page, panel, del, ins } = themes()[name]!
      for (const ground of [page, panel]) {
        for (const text of [ink, soft])
          expect(contrast(colourOf(text), colourOf(ground))).toBeGreaterThanOrEqual(4.5)
      }
      for (const mark of [del, ins])
        expect(contrast(colourOf(ink), colourOf(mark))).toBeGreaterThanOrEqual(4.5)
    },
  )
})
