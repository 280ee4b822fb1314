-- use: time
-- buried: every partition's burial of a dead node is done.
--
-- KEYS[1]  turnlog:{nodes}:lease
-- ARGV     1 node
-- Returns  1
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZADD', 'turnlog:{nodes}:buried', 'NX', string.format('%.0f', now_ms()), ARGV[1])
return {1}
