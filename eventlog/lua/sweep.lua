-- use: state keys time
-- sweep: look for turns of one partition that nobody runs, one page per call.
--
-- KEYS[1]  turnlog:{p}:turns
-- ARGV     1 rank of the first turn of the page  2 page size  then the nodes that are alive, or dead and not buried yet
-- Returns  how many turns the page had and still has, then thread, turn id, attempt, owner of each turn whose owner is none of the nodes
--
-- Invariants: writes nothing, except that entries without a running turn leave the index.
-- Turns that a known node has among its own cost no command each.
local known = {}
for i = 3, #ARGV do known[ARGV[i]] = true end
local P = string.sub(KEYS[1], 1, -6)
local names = redis.call('ZRANGE', KEYS[1], ARGV[1], num(tonumber(ARGV[1]) + tonumber(ARGV[2]) - 1))
local owned = {}
for node in pairs(known) do
  if #names == 0 then break end
  for i, is in ipairs(redis.call('SMISMEMBER', P .. 'node:' .. node .. ':turns', unpack(names))) do
    if is == 1 then owned[i] = true end
  end
end

-- orphan looks at a turn that no known node has among its own; false: it is over and leaves the index.
local out, kept = {0}, 0
local function orphan(name)
  local st = redis.call('HMGET', P .. name .. ':state', 'status', 'owner', 'turn_id', 'attempt', 'lost_at', 'restart')
  if st[1] ~= 'running' then
    redis.call('ZREM', KEYS[1], name)
    return false
  end
  local waiting = st[2] == '' and ((tonumber(st[5] or '') or 0) > 0 or st[6] == '1')
  if not known[st[2]] and not waiting then
    for _, v in ipairs({name, st[3] or '', st[4] or '', st[2] or ''}) do out[#out + 1] = v end
  end
  return true
end
for i, name in ipairs(names) do
  if owned[i] or orphan(name) then kept = kept + 1 end
end
out[1] = kept
return out
