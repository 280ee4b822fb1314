-- count_turns: count a partition's running turns by owner and policy, one page per call.
--
-- KEYS[1]  turnlog:{p}:turns
-- ARGV     1 cursor, '0' at first  2 page size
-- Returns  the next cursor, '0' at the end; then owner, policy, running and detached of each pair that there is
--
-- Invariants: writes nothing.
local P = string.sub(KEYS[1], 1, -6)
local page = redis.call('ZSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local counts, order = {}, {}
for i = 1, #page[2], 2 do
  local st = redis.call('HMGET', P .. page[2][i] .. ':state', 'status', 'owner', 'policy', 'detached_at')
  if st[1] == 'running' then
    local pair = (st[2] or '') .. ' ' .. (st[3] or '')
    local c = counts[pair]
    if not c then
      c = {st[2] or '', st[3] or '', 0, 0}
      counts[pair] = c
      order[#order + 1] = c
    end
    c[3] = c[3] + 1
    if st[4] and st[4] ~= '' then c[4] = c[4] + 1 end
  end
end
local out = {page[1]}
for _, c in ipairs(order) do
  for i = 1, 4 do out[#out + 1] = c[i] end
end
return out
