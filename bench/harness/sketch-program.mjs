/**
 * A program that sketches documents and does nothing else: it reads the files as the job does, brings every text into
 * its canonical form, and makes its sketch. With the built package and no loader, so its start is that of the job too.
 */

const at = (name) => new URL(`../../dist/${name}.js`, import.meta.url).href
const { listShards, readLendingTexts } = await import(at('input/index'))
const { utf8Of } = await import(at('input/document'))
const { canonicalProfile } = await import(at('canonical/index'))
const { sketchOf } = await import(at('fingerprint/index'))

const [slots, ...files] = process.argv.slice(2)
const { canonicalise } = canonicalProfile('unicode')
const options = { profile: 'auto', slots: Number(slots) }
const scratch = Buffer.allocUnsafeSlow(256 * 1024)
let documents = 0
let shingles = 0
const { shards } = await listShards(files, {})
for (const shard of shards) {
  for await (const items of readLendingTexts(shard, {})) {
    for (const document of items) {
      const text = utf8Of(document) ?? Buffer.from(document.text)
      shingles += sketchOf(canonicalise(text, scratch), options).shingles
      documents++
    }
  }
}
if (shingles === 0) throw new Error('There was nothing to sketch.')
process.stdout.write(JSON.stringify({ documents }))
