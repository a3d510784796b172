/** Settings in layers: which wins, what they may be written as, and what is said of those that there are not. */

import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

import { configYaml } from './config-text.ts'
import { environmentLayer, jobSchema, type Layer, readJobConfig } from './job-config.ts'
import { fieldsOf } from './schema-fields.ts'

const layer = (values: Layer['values'], from = 'c.yaml'): Layer => ({ from, values })
const read = (...values: Layer['values'][]) => readJobConfig(values.map((one) => layer(one)))
const messageOf = (values: Layer['values']): string => {
  try {
    read(values)
  } catch (error) {
    return String(error)
  }
  return 'nothing was wrong'
}

describe('layers', () => {
  it('are merged setting by setting, the last winning; a list replaces a list', () => {
    const { config, reading } = read(
      { near: { threshold: 0.7, slots: 256 }, keep: ['longest', 'source'] },
      { near: { threshold: 0.9 }, keep: ['first'], input: { fields: { text: 'body' } } },
    )
    expect(config.near).toMatchObject({ threshold: 0.9, slots: 256 })
    expect(config.keep).toEqual(['first'])
    expect(reading.fields).toMatchObject({ text: 'body', id: 'id' })
  })

  it('may be of the environment, under the name of the setting', () => {
    const values = environmentLayer({
      PRESTIGE_DEDUPE_NEAR_THRESHOLD: '85%',
      PRESTIGE_DEDUPE_SOURCE_PRIORITY: 'books, wiki',
      PRESTIGE_DEDUPE_SIMHASH_ENABLED: 'true',
      PRESTIGE_DEDUPE_INPUT_FIELDS_TEXT: 'content',
      OTHER: 'x',
    })
    const { config, reading } = readJobConfig([values])
    expect(config.near.threshold).toBe(0.85)
    expect(config.sourcePriority).toEqual(['books', 'wiki'])
    expect(config.simhash.enabled).toBe(true)
    expect(reading.fields?.text).toBe('content')
    expect(() => environmentLayer({ PRESTIGE_DEDUPE_MAX_DORP: '1' })).toThrow(
      'PRESTIGE_DEDUPE_MAX_DORP is not an option. Did you mean PRESTIGE_DEDUPE_MAX_DROP?',
    )
  })
})

describe('values', () => {
  it('have units where that is natural', () => {
    const { config, reading } = read({ maxDrop: '57%', input: { lineBytesMax: '10MB' } })
    expect([config.maxDrop, reading.lineBytesMax]).toEqual([0.57, 10_000_000])
    expect(read({ input: { lineBytesMax: '1 MiB' } }).reading.lineBytesMax).toBe(2 ** 20)
  })

  it('that cannot be are refused with the name of the setting', () => {
    expect(messageOf({ maxDrop: 'much' })).toContain('c.yaml: maxDrop: must be a number, such as')
    expect(messageOf({ maxDrop: '200%' })).toContain('maxDrop: must be a number from 0 to 1')
    expect(messageOf({ canonical: { profile: 'latin' } })).toContain('canonical.profile: must be')
    expect(messageOf({ near: 5 })).toContain('near: must be an object, not 5')
    expect(messageOf({ strict: 'perhaps' })).toContain(
      'strict: must be true or false, not "perhaps"',
    )
  })
})

describe('names', () => {
  it('that there are not are answered with the nearest', () => {
    expect(messageOf({ maxDrp: 1 })).toContain('maxDrp is not an option. Did you mean maxDrop?')
    expect(messageOf({ near: { similarity: 1 } })).toContain('near.similarity is not an option')
    expect(messageOf({ threshold: 1 })).toContain('Did you mean near.threshold?')
  })

  it('of the other spelling are understood', () => {
    const { config, command, warnings } = read({
      global_fingerprints: {
        enabled: true,
        root_path: 'fingerprints_global',
        simhash: { enabled: true, max_hamming: 2 },
        minhash: { threshold: 0.9, num_perm: 128, ngram: 5 },
        chunk_hash: { enabled: true, chunk_size: 500, overlap: 0 },
        source_priority: ['books', 'wiki'],
        document_type_priority: ['article'],
      },
      maxDrop: 0.5,
    })
    expect(config).toMatchObject({
      simhash: { enabled: true, distanceMax: 2 },
      near: { threshold: 0.9, slots: 128, profile: 'chars-5' },
      chunks: { enabled: true, bytes: 512 },
      sourcePriority: ['books', 'wiki'],
      typePriority: ['article'],
      keep: ['type', 'source', 'first'],
      maxDrop: 0.5,
    })
    expect(command.state).toBe('fingerprints_global')
    expect(warnings).toEqual([expect.stringContaining('the mean length is 512 bytes')])
  })

  it.each([
    [{ enabled: false }, 'enabled: false cannot be used'],
    [{ surprise: 1 }, 'surprise: 1 cannot be used: there is no such setting'],
    [{ minhash: { treshold: 1 } }, 'did you mean minhash.threshold?'],
    [{ chunk_hash: { overlap: 50 } }, 'chunk_hash.overlap: 50 cannot be used'],
    [{ simhash: { max_tokens: 9 } }, 'texts are always used whole'],
    [{ backend: 'redis' }, 'backend must be one of dynamodb, local, s3'],
    [{ backend: 's3' }, 'fingerprints are not kept on S3'],
    [{ storage: { type: 's3' } }, 'fingerprints are not kept on S3'],
    [{ backend: 'local' }, 'root_path must name a directory'],
    [{ backend: 'local', root_path: 'x', storage: { type: 's3' } }, 'Make them agree'],
    [{ dynamodb: {} }, 'without backend: dynamodb'],
    [{ backend: 'dynamodb' }, 'needs region and prefix'],
    [{ backend: 'dynamodb', dynamodb: { prefix: 'x' } }, 'dynamodb.region is missing'],
    [{ backend: 'dynamodb', dynamodb: { region: 'r' } }, 'dynamodb.prefix is missing'],
    [
      { backend: 'dynamodb', dynamodb: { region: 'r', tabel: 'x' } },
      'dynamodb.tabel is not an option',
    ],
    [
      { backend: 'dynamodb', dynamodb: { region: 'r', chunk_table: 'pieces' } },
      'dynamodb.chunk_table cannot be "pieces"',
    ],
    [
      {
        backend: 'dynamodb',
        dynamodb: { region: 'r', chunk_table: 'a-chunk', simhash_table: 'b-simhash' },
      },
      'several prefixes (b, a)',
    ],
  ])('of the other spelling that cannot be expressed are refused: %j', (said, message) => {
    expect(messageOf({ global_fingerprints: said })).toContain(message)
  })

  it('of the other spelling select a table, and the methods it is for', () => {
    const dynamodb = { region: 'eu-central-1', simhash_table: 'c-simhash', endpoint: 'http://h:1' }
    const said = { backend: 'dynamodb', root_path: 'r', dynamodb }
    const { config, command, warnings } = read({ global_fingerprints: said })
    expect(command.state).toBe('dynamodb://eu-central-1/c?endpoint=http://h:1')
    expect([config.simhash.enabled, config.chunks.enabled]).toEqual([true, false])
    expect(warnings).toEqual([expect.stringContaining('in the table c-rows. root_path')])
    const off = read({ global_fingerprints: { ...said, simhash: { enabled: false } } })
    expect(off.config.simhash.enabled).toBe(false)
    expect(messageOf({ global_fingerprints: said, state: 's' })).toContain('remove one of them')
  })
})

describe('settings of the command', () => {
  it('have paths relative to their file, and inputs keep the names they were given', () => {
    const values = {
      inputs: ['books', './wiki/', '/data/web', 's3://bucket/x', '-', 'more/*.jsonl'],
      output: 'out',
      state: 'redis://host:1',
      against: '../other',
      plan: true,
      threads: '2',
      input: { root: '.' },
      semantic: { model: './model' },
    }
    const { command, listing, config } = readJobConfig([{ ...layer(values), directory: 'jobs' }])
    expect(command.inputs).toEqual([
      { path: 'jobs/books', source: 'books' },
      { path: 'jobs/wiki/', source: 'wiki' },
      { path: '/data/web', source: '/data/web' },
      { path: 's3://bucket/x', source: 's3://bucket/x' },
      { path: '-', source: 'stdin' },
      { path: 'jobs/more/*.jsonl', source: 'more' },
    ])
    expect(command).toMatchObject({
      output: 'jobs/out',
      state: 'redis://host:1',
      against: 'other',
      plan: true,
      threads: 2,
    })
    expect([listing.root, config.semantic.model]).toEqual(['jobs', 'jobs/model'])
    expect(messageOf({ workers: 0 })).toContain('workers: must be a whole number from 1')
  })
})

describe('the file to begin with', () => {
  it('says what is so anyway, and explains every setting', () => {
    const yaml = configYaml()
    const { given, typed, ...settings } = read(parse(yaml))
    expect(readJobConfig([])).toMatchObject(settings)
    expect(given).toMatchObject({ keep: ['first'], near: { enabled: true } })
    expect(typed('near.enabled')).toBe('near.enabled: true in c.yaml')
    for (const { path, help } of fieldsOf(jobSchema)) {
      expect(help, path.join('.')).not.toBe('')
      expect(yaml).toContain(`${path.at(-1)}:`)
    }
  })
})
