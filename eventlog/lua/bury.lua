-- use: keys time cfg state due requests viewers lost
-- bury: clear up behind a dead node in one partition, one page per call.
--
-- KEYS[1]  turnlog:{p}:dead
-- ARGV     1 settings  2 node
-- Returns  1 when there is more to do, else 0; the threads that are now due or ready
--
-- Invariants: from the first page on the node's late begin and attach are
-- refused, and its append as soon as the page with its turn is done. A turn that may have another attempt becomes ready; any other is due, and
-- reap ends it. The first write is never refused. Repeatable at any point.
local P, cfg, now, node = string.sub(KEYS[1], 1, -5), cfg_parse(ARGV[1]), now_ms(), ARGV[2]
local page = 50
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', num(now - 86400000))
redis.call('ZADD', KEYS[1], 'NX', num(now), node)
redis.call('PEXPIRE', KEYS[1], 86400000)
local turns, viewing = P .. 'node:' .. node .. ':turns', P .. 'node:' .. node .. ':viewing'
local touched = {}

for _, name in ipairs(redis.call('SRANDMEMBER', turns, page)) do
  local K = thread_keys(P .. name .. ':state')
  local st = state_read(K)
  redis.call('SREM', turns, name)
  if st.running and st.owner == node then
    touched[#touched + 1] = name
    turn_lost(K, st, now)
  end
end

-- Turns go first: one that the node owned and watched alone ends as owner_lost.
if redis.call('SCARD', turns) == 0 then
  for _, name in ipairs(redis.call('SRANDMEMBER', viewing, page)) do
    local K = thread_keys(P .. name .. ':state')
    redis.call('SREM', viewing, name)
    if redis.call('HDEL', K.viewers, node) == 1 then
      -- Connections are named after their node.
      requests_release(K, function(conn) return string.sub(conn, 1, #node + 1) == node .. '.' end)
      local st = state_read(K)
      local _, ending = viewers_left(K, st, now, cfg, false, now)
      if ending then touched[#touched + 1] = name end
    end
  end
end

local more = redis.call('SCARD', viewing) + redis.call('SCARD', turns) > 0
if not more then redis.call('DEL', P .. 'node:' .. node .. ':inbox') end
return {more and 1 or 0, touched}
