-- use: time
-- heartbeat: extend a node's lease.
--
-- KEYS[1]  turnlog:{nodes}:lease
-- ARGV     1 node  2 lease in ms
-- Returns  1, or 0 when the node was declared dead: its id never comes back
--
-- Works when memory is full: nodes must not die of it.
local dead = 'turnlog:{nodes}:dead'
if redis.call('ZSCORE', dead, ARGV[1]) then return {0} end
redis.call('ZREM', dead, '')
redis.call('ZADD', KEYS[1], string.format('%.0f', now_ms() + tonumber(ARGV[2])), ARGV[1])
return {1}
