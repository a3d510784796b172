/** The style sheet of the report. It loads nothing. */

import { DARK, LIGHT } from './palette.ts'

export const PAGE_STYLE = `
:root { color-scheme: light dark; ${LIGHT} }
@media (prefers-color-scheme: dark) {
  :root { ${DARK} }
}
* { box-sizing: border-box }
body {
  margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 62rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .25rem }
h2 { font-size: 1.25rem; margin: 2.75rem 0 .5rem; padding-top: .75rem; border-top: 1px solid var(--line) }
h3 { font-size: 1rem; margin: 1.5rem 0 .4rem }
p { margin: .4rem 0 .8rem; max-width: 46rem }
.corpus { overflow-wrap: anywhere; max-width: none }
.text { color: var(--soft); font-size: .85rem; overflow-wrap: anywhere }
td .text { display: inline-block; min-width: 14rem }
.soft, figcaption, caption { color: var(--soft); font-size: .875rem }
code { font: .875em ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; overflow-wrap: anywhere }
.banner { border: 1px solid var(--dropped); border-inline-start-width: 5px; border-radius: 4px; padding: .5rem .8rem }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .75rem; margin: 1.25rem 0 0; padding: 0 }
.figures div { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: .7rem .9rem }
.figures dt { color: var(--soft); font-size: .85rem }
.figures dd { margin: 0; font-size: 1.5rem; font-weight: 650; font-variant-numeric: tabular-nums; line-height: 1.3 }
.figures dd small { display: block; font-size: .8rem; font-weight: 400; color: var(--soft) }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-size: .9rem; margin: .5rem 0 }
caption { text-align: start; padding-bottom: .35rem }
th, td { padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); text-align: start; vertical-align: top }
th { font-weight: 600 }
thead th { color: var(--soft); font-weight: 500 }
.number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap }
td bdi, th bdi { display: inline-block; max-width: 20rem; overflow-wrap: break-word }
bdi { overflow-wrap: anywhere }
figure { margin: .75rem 0 1.25rem }
svg { max-width: 100%; height: auto; display: block }
svg text { fill: var(--ink); font-size: 12px; unicode-bidi: plaintext }
svg .small { font-size: 11px; fill: var(--soft); font-variant-numeric: tabular-nums }
svg .small.on-heat { fill: var(--ink) }
svg .axis { stroke: var(--soft) }
.kept { fill: var(--kept); background: var(--kept) } .linked { fill: var(--linked); background: var(--linked) }
.dropped { fill: var(--dropped); background: var(--dropped) }
.near, .clusters { fill: var(--linked); background: var(--linked) }
.simhash { fill: var(--other); background: var(--other) }
.heat { fill: var(--heat); fill-opacity: calc(var(--share) * var(--heat-max)) } .heat-ground { fill: var(--panel) }
.key { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; margin: .25rem 0; font-size: .875rem; color: var(--soft) }
.key i { display: inline-block; width: .75rem; height: .75rem; border-radius: 2px; margin-inline-end: .4rem; vertical-align: -1px }
details { margin: .5rem 0 } summary { cursor: pointer }
.pair { border: 1px solid var(--line); border-radius: 8px; margin: 1rem 0; overflow: hidden }
.pair header { padding: .5rem .8rem; background: var(--panel); border-bottom: 1px solid var(--line); font-size: .9rem }
.pair header p { margin: 0; max-width: none } .pair h3 { margin: 0; font-size: .95rem }
.sides { width: 100%; table-layout: fixed; margin: 0 }
.sides th, .sides td { width: 50%; padding: .3rem .8rem; border: 0; overflow-wrap: anywhere }
.sides th { border-bottom: 1px solid var(--line); color: var(--ink); font-weight: 600 }
.sides th span { display: block; font-weight: 400; color: var(--soft); font-size: .8rem }
/* The line is between the two, whichever way their texts run. */
.sides th + th, .sides td + td { border-left: 1px solid var(--line) }
.sides td { white-space: pre-wrap; font-size: .875rem; line-height: 1.45 }
.sides .skip td { color: var(--soft); font-style: italic; background: var(--panel); padding-block: .1rem }
del { background: var(--del); text-decoration: none; border-bottom: 2px solid var(--del-line) }
ins { background: var(--ins); text-decoration: none; border-bottom: 2px solid var(--ins-line) }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: .8rem; overflow-x: auto; font-size: .8rem }
@media (max-width: 40rem) {
  body { padding: 1.25rem .9rem 3rem }
  .figures { grid-template-columns: repeat(2, 1fr) }
  svg text { font-size: 13px } svg .small { font-size: 12px }
  .sides th, .sides td { padding-inline: .5rem; font-size: .8rem }
}
@media print {
  :root {
    --page: #ffffff; --panel: #f6f8fa; --line: #d0d7de; --ink: #000000; --soft: #444444;
    --kept: #1a7f37; --linked: #0969da; --dropped: #bc4c00; --other: #8250df; --heat: #0550ae; --heat-max: .6;
    --del: #ffebe9; --del-line: #cf222e; --ins: #dafbe1; --ins-line: #1a7f37;
  }
  body { max-width: none; padding: 0; font-size: 11pt }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact }
  figure, tr, .figures div { break-inside: avoid } h2, h3, .pair header { break-after: avoid }
}
`
