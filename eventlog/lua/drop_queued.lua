-- use: keys state submission
-- drop_queued: remove a submission that waits.
--
-- KEYS[1]  the thread's state
-- ARGV     1 turn_id
-- Returns  1 when it waited, else 0
local K = thread_keys(KEYS[1])
local _, blob = queue_find(K, ARGV[1])
if not blob then return {0} end
redis.call('LREM', K.queue, 1, blob)
if redis.call('LLEN', K.queue) == 0 and redis.call('HGET', K.state, 'restart') ~= '1' then redis.call('ZREM', K.P .. 'ready', K.name) end
return {1}
