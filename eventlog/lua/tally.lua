-- use: state keys time
-- tally: count a node's running turns of one partition by policy, one page per call.
--
-- KEYS[1]  turnlog:{p}:node:<id>:turns
-- ARGV     1 cursor, '0' at first  2 page size
-- Returns  the next cursor, '0' at the end; then running and detached of cancel, of grace and of preserve
--
-- Invariants: writes nothing.
local P = string.match(KEYS[1], '^turnlog:{%d+}:')
local page = redis.call('SSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local counts = {0, 0, 0, 0, 0, 0}
for _, name in ipairs(page[2]) do
  local st = redis.call('HMGET', P .. name .. ':state', 'status', 'policy', 'detached_at')
  local rank = POLICY_RANK[st[2] or ''] or 0
  if st[1] == 'running' and rank > 0 then
    counts[2 * rank - 1] = counts[2 * rank - 1] + 1
    if st[3] and st[3] ~= '' then counts[2 * rank] = counts[2 * rank] + 1 end
  end
end
return {page[1], unpack(counts)}
