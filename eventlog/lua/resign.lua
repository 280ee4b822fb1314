-- use: time
-- resign: a node gives its lease up for good, and the reaper's if it leads.
--
-- KEYS[1]  turnlog:{nodes}:lease
-- ARGV     1 node
-- Returns  1
local dead = 'turnlog:{nodes}:dead'
redis.call('ZREM', KEYS[1], ARGV[1])
local reaper = redis.call('GET', 'turnlog:{nodes}:reaper')
if reaper and string.match(reaper, '^(%S+) ') == ARGV[1] then redis.call('DEL', 'turnlog:{nodes}:reaper') end
if not redis.call('ZSCORE', dead, ARGV[1]) then redis.call('ZADD', dead, string.format('%.0f', now_ms()), ARGV[1]) end
return {1}
