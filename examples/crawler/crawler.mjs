/**
 * A crawler that asks the resolver whether a page was seen before, whatever its address. The pages are in this file, so that
 * it runs without a network. `node examples/crawler/crawler.mjs`, after `npm ci`.
 */

import { openResolver } from 'prestige-dedup'

const article =
  'The harbour of the old town was closed on Monday after a storm had damaged two of its piers. Repairs will take several weeks, the town council said.'
const site = {
  '/': { text: 'Welcome to the site of the town and its harbour.', links: ['/news/7', '/print/7'] },
  '/news/7': { text: article, links: ['/', '/amp/7'] },
  '/print/7': { text: `${article} Printed version.`, links: ['/news/7'] },
  '/amp/7': { text: article, links: ['/print/7', '/contact'] },
  '/contact': { text: 'Write to the harbour office, which answers within two days.', links: [] },
}

const resolver = await openResolver('memory:')
let indexed = 0
const queue = ['/']
const seen = new Set(queue)
for (let url = queue.shift(); url !== undefined; url = queue.shift()) {
  const { text, links } = site[url] // in Crawlee: the requestHandler, with the text of the page
  const { status } = await resolver.resolve('pages', text)
  console.log(`${url}: ${status}`)
  // What is not new is not indexed again. Its links are followed: a copy may have others.
  if (status === 'new') indexed++
  for (const link of links) {
    if (seen.has(link)) continue
    seen.add(link)
    queue.push(link)
  }
}
console.log(`${indexed} of ${seen.size} pages indexed`)
await resolver.close()
