-- use: keys time state due requests
-- delete: remove every key of a thread.
--
-- KEYS[1]  the thread's state
-- ARGV     1 leave a thread alone that began after this time (Unix ms); '' = whatever it is
-- Returns  1 deleted | 0 there was nothing | 2 it began later and is left alone; then, of what was deleted: turns ended, keys, streams, frames, messages, queued
--
-- Invariants: {deleted, epoch, turn_id} stays for 24 h, so that a late owner, reaper
-- or viewer cannot resurrect it. T:submit:<id> and T:input:<id> run out by themselves
-- within 24 h: they hold ids and digests, no content, and cannot be found by the thread. The
-- first write is never refused. Where there is nothing, the user's indexes forget the thread.
local K, now = thread_keys(KEYS[1]), now_ms()
local st = state_read(K)
if ARGV[1] ~= '' and (tonumber(st.created_at) or 0) > tonumber(ARGV[1]) then return {2, 0, 0, 0, 0, 0, 0} end
never_refused(K)
redis.call('ZREM', K.U .. ':threads', K.thread)
redis.call('SREM', K.U .. ':running', K.thread)
if st.deleted ~= '' or redis.call('EXISTS', K.state, K.log, K.messages) == 0 then return {0, 0, 0, 0, 0, 0, 0} end
for _, id in ipairs(redis.call('HKEYS', K.requests)) do redis.call('HDEL', K.U .. ':requests', id) end
for _, node in ipairs(redis.call('HKEYS', K.viewers)) do redis.call('SREM', node_key(K, node, 'viewing'), K.name) end
local streams = redis.call('EXISTS', K.log, K.messages, K.inputs)
local frames, messages, queued = redis.call('XLEN', K.log), redis.call('XLEN', K.messages), redis.call('LLEN', K.queue)
local keys = redis.call('UNLINK', K.state, K.log, K.messages, K.inputs, K.requests, K.queue, K.viewers, K.turns)
for _, index in ipairs({'turns', 'due', 'ready'}) do redis.call('ZREM', K.P .. index, K.name) end
redis.call('HSET', K.state, 'deleted', num(now), 'epoch', st.epoch, 'turn_id', st.turn_id)
redis.call('PEXPIRE', K.state, 86400000)
redis.call('PUBLISH', K.live, 'd\n')
if st.owner ~= '' and st.running then
  redis.call('SREM', node_key(K, st.owner, 'turns'), K.name)
  wake(K, st.owner)
end
return {1, st.running and 1 or 0, keys, streams, frames, messages, queued}
