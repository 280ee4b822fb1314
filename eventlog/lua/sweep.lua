-- use: state keys time
-- sweep: look for turns of one partition that nobody runs, one page per call.
--
-- KEYS[1]  turnlog:{p}:turns
-- ARGV     1 rank of the first turn of the page  2 page size  then the nodes that are alive, or dead and not buried yet
-- Returns  how many turns the page had and still has, then thread, turn id, attempt, owner of each turn whose owner is none of the nodes
--
-- Invariants: writes nothing, except that entries without a running turn leave the index.
local known = {}
for i = 3, #ARGV do known[ARGV[i]] = true end
local P = string.sub(KEYS[1], 1, -6)
local names = redis.call('ZRANGE', KEYS[1], ARGV[1], num(tonumber(ARGV[1]) + tonumber(ARGV[2]) - 1))
local out, kept = {0}, 0
for _, name in ipairs(names) do
  local st = redis.call('HMGET', P .. name .. ':state', 'status', 'owner', 'turn_id', 'attempt', 'lost_at', 'restart')
  if st[1] ~= 'running' then
    redis.call('ZREM', KEYS[1], name)
  else
    kept = kept + 1
    local waiting = st[2] == '' and ((tonumber(st[5] or '') or 0) > 0 or st[6] == '1')
    if not known[st[2]] and not waiting then
      out[#out + 1] = name
      out[#out + 1] = st[3] or ''
      out[#out + 1] = st[4] or ''
      out[#out + 1] = st[2] or ''
    end
  end
end
out[1] = kept
return out
