/**
 * What runs on the server, each script at one moment: the commit of many transactions, the fetch of cells of
 * several spaces, and a page of a scan.
 *
 * All keys are declared and of one slot. Redis refuses the first write of a script or none (OOM, a replica, a full
 * disk), so nothing is half applied. Of what it refuses when memory is full, removing is not: a script that begins
 * with a removal may write on. So what the script itself has to forget comes last; and a commit that frees memory begins
 * by removing its own version, which is not there yet.
 */

import { createHash } from 'node:crypto'

export interface Script {
  readonly source: string
  readonly sha: string
}

function script(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') }
}

/**
 * Groups of a plan: operation, number of the key, whether it is ordered, how many cells (two bytes). Of `begin`, the
 * number says whether the commit frees memory, and the cells are its groups.
 */
export const OPERATION = {
  begin: 0,
  checkRows: 1,
  checkTallies: 2,
  set: 3,
  remove: 4,
  add: 5,
} as const

/** Lua passes at most some 8,000 values to a call; a row to set takes two. */
export const GROUP_CELLS_MAX = 1000

/**
 * KEYS: the session's set of versions; then hashes, each followed by its sorted set if it has one.
 * ARGV: plan, life of versions in ms, number of commits, their versions, number of versions that were heard of,
 * these, then what the groups of the plan take: fields and expected versions; fields and values; fields; fields
 * and deltas.
 *
 * Answers one entry a commit: 1 applied (now or before), or the values of all cells checked.
 *
 * Additions of a batch are summed up first, because thousands of puts add to the same few tallies. Sums stay
 * below 2^53, where doubles are exact; what would not is added at once.
 */
export const commitScript: Script = script(`
local call, byte, sub = redis.call, string.byte, string.sub
local plan, count = ARGV[1], tonumber(ARGV[3])
local a = 4 + count
local heard, firstHeard = tonumber(ARGV[a]), a + 1
a = a + heard + 1
local before = call('SMISMEMBER', KEYS[1], unpack(ARGV, 4, 3 + count))
local answers, applied, sums, isKnown = {}, {}, {}, false
local function add(key, field, delta)
  local done = redis.pcall('HINCRBY', key, field, delta)
  if type(done) == 'table' then call('HINCRBYFLOAT', key, field, delta) end
end
local function addUp()
  for k, fields in pairs(sums) do
    for field, sum in pairs(fields) do add(KEYS[k], field, string.format('%.0f', sum)) end
  end
  sums = {}
end
local p = 1
for c = 1, count do
  local op, k, z, hi, lo = byte(plan, p, p + 4)
  p = p + 5
  local skip, ok, writes, found, frees = before[c] == 1, true, false, {}, k == 1
  if skip then isKnown = true end
  for g = 1, hi * 256 + lo do
    op, k, z, hi, lo = byte(plan, p, p + 4)
    p = p + 5
    local n = hi * 256 + lo
    if op <= 2 then
      if not skip then
        if op == 2 and next(sums) then addUp() end
        local now = call('HMGET', KEYS[k], unpack(ARGV, a, a + n - 1))
        for i = 1, n do
          local have = now[i] or ''
          if op == 1 then have = sub(have, 1, 8) end
          if have ~= ARGV[a + n + i - 1] then ok = false end
        end
        found[#found + 1] = now
      end
      a = a + 2 * n
    else
      if not skip and ok then
        if frees and not writes then call('SREM', KEYS[1], ARGV[3 + c]) end
        writes = true
        if op == 3 then
          local new = call('HSET', KEYS[k], unpack(ARGV, a, a + 2 * n - 1))
          if z > 0 and new > 0 then
            if n == 1 then call('ZADD', KEYS[k + 1], 0, ARGV[a])
            else
              local members = {}
              for i = 0, n - 1 do
                members[2 * i + 1] = 0
                members[2 * i + 2] = ARGV[a + 2 * i]
              end
              call('ZADD', KEYS[k + 1], unpack(members))
            end
          end
        elseif op == 4 then
          call('HDEL', KEYS[k], unpack(ARGV, a, a + n - 1))
          if z > 0 then call('ZREM', KEYS[k + 1], unpack(ARGV, a, a + n - 1)) end
        else
          local fields = sums[k]
          if not fields then
            fields = {}
            sums[k] = fields
          end
          for i = a, a + 2 * n - 2, 2 do
            local sum = (fields[ARGV[i]] or 0) + tonumber(ARGV[i + 1])
            if sum < 4503599627370496 and sum > -4503599627370496 then fields[ARGV[i]] = sum
            else add(KEYS[k], ARGV[i], ARGV[i + 1]) end
          end
        end
      end
      if op == 4 then a = a + n else a = a + 2 * n end
    end
  end
  if skip or ok then
    answers[c] = 1
    if writes then applied[#applied + 1] = ARGV[3 + c] end
  else
    local all = {}
    for i = 1, #found do
      local now = found[i]
      for j = 1, #now do all[#all + 1] = now[j] end
    end
    answers[c] = all
  end
end
addUp()
if heard > 0 then call('SREM', KEYS[1], unpack(ARGV, firstHeard, firstHeard + heard - 1)) end
if #applied > 0 then call('SADD', KEYS[1], unpack(applied)) end
if #applied > 0 or isKnown then call('PEXPIRE', KEYS[1], ARGV[2]) end
return answers
`)

/** KEYS: hashes. ARGV: plan (number of cells of each, two bytes), then the fields. Answers a list for each. */
export const fetchScript: Script = script(`
local plan, a, answers = ARGV[1], 2, {}
for k = 1, #KEYS do
  local hi, lo = string.byte(plan, 2 * k - 1, 2 * k)
  local n = hi * 256 + lo
  answers[k] = redis.call('HMGET', KEYS[k], unpack(ARGV, a, a + n - 1))
  a = a + n
end
return answers
`)

/**
 * KEYS: sorted set, hash. ARGV: from, to, rows at most, bytes at which a page ends.
 * Answers whether there may be more, then keys and values in turn.
 */
export const scanScript: Script = script(`
local names = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local answer, bytes, at = { #names == tonumber(ARGV[3]) and 1 or 0 }, 0, 1
while at <= #names do
  if bytes > tonumber(ARGV[4]) then
    answer[1] = 1
    return answer
  end
  local last = math.min(at + 15, #names)
  local values = redis.call('HMGET', KEYS[2], unpack(names, at, last))
  for i = 1, #values do
    answer[#answer + 1] = names[at]
    answer[#answer + 1] = values[i]
    bytes = bytes + (values[i] and #values[i] or 0)
    at = at + 1
  end
end
return answer
`)
