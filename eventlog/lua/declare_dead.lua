-- use: time
-- declare_dead: a node whose lease is past and still there is dead from here on.
--
-- KEYS[1]  turnlog:{nodes}:lease
-- ARGV     1 node
-- Returns  1 when the node is dead, by this call or an earlier one, else 0
local dead, buried, now = 'turnlog:{nodes}:dead', 'turnlog:{nodes}:buried', now_ms()
if redis.call('ZSCORE', dead, ARGV[1]) then return {1} end
local lease = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not lease or tonumber(lease) > now then return {0} end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZADD', dead, string.format('%.0f', now), ARGV[1])
for _, key in ipairs({dead, buried}) do redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now - 86400000)) end
return {1}
