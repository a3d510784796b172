/**
 * Whether a content that is cut into chunks is all there, and how a damaged one is made whole: by the recipe of the same
 * bytes that were staged beside it.
 */

import { type Bytes, endOfPrefix, equalBytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  type Backend,
  cell,
  ID_BYTES,
  read,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { digests } from '../rows.ts'
import { chunks, endOf, recipeKey, type RecipePart, recipes } from './chunk-rows.ts'
import { HEALS } from './collect-chunks.ts'
import { batchesOf, type ContentPlace, findRecipe } from './read-content.ts'
import { findPlaces } from './stage-content.ts'

/** Every chunk of it is there, as it was written. No pack is inflated for that. */
export async function isSoundRecipe(
  backend: Backend,
  { id, bytes }: ContentPlace,
): Promise<boolean> {
  try {
    let end = 0
    for (let part = 0; end < bytes; part++) {
      const recipe = await backend.read(findRecipe, id, part)
      if (recipe?.offset !== end || recipe.chunks.length === 0) return false
      for (const batch of batchesOf(recipe.chunks)) {
        const places = await backend.read(findPlaces, batch, true)
        if (!places.every(({ isSound }) => isSound)) return false
      }
      end = endOf(recipe)
    }
    return end === bytes
  } catch (error) {
    if (error instanceof PrestigeError && error.code === 'CONTENT_CORRUPT') return false
    throw error
  }
}

interface Content {
  readonly id: Bytes
  readonly digest: Bytes
}

/** Whether the content was still there. */
export async function replaceRecipe(
  backend: Backend,
  from: Bytes,
  content: Content,
): Promise<boolean> {
  let part = 0
  for (; ; part++) {
    const recipe = await backend.read(findRecipe, from, part)
    if (!recipe) break
    if (!(await backend.run(replacePart, content, part, recipe))) return false
  }
  const { id } = content
  const range = { start: recipeKey(id, part), end: endOfPrefix(id) }
  const extra: Buffer[] = []
  for await (const { key } of backend.scan(recipes, range)) extra.push(key)
  for (const key of extra) await backend.run(removeExtra, content, key)
  return true
}

function* isThere({ id, digest }: Content): Transaction<boolean> {
  const [known] = yield* read(cell(digests, digest))
  return known !== undefined && equalBytes(known.id, id)
}

/** The chunks are named by what was staged, so they are there; marks of collectors are taken away all the same. */
function* replacePart(
  scope: Scope,
  content: Content,
  part: number,
  recipe: RecipePart,
): Transaction<boolean> {
  if (!(yield* isThere(content))) return false
  const rows = yield* read(...recipe.chunks.map(({ digest }) => cell(chunks, digest)))
  for (const [at, { digest }] of recipe.chunks.entries()) {
    const row = rows[at]
    if (row?.mark) scope.write(cell(chunks, digest), { ...row, mark: undefined })
  }
  scope.write(cell(recipes, recipeKey(content.id, part)), recipe)
  scope.write(HEALS, scope.id())
  return true
}

function* removeExtra(scope: Scope, content: Content, key: Buffer): Transaction<void> {
  if ((yield* isThere(content)) && key.byteLength > ID_BYTES) scope.remove(cell(recipes, key))
}
