-- use: keys time state due requests
-- delete: remove every key of a thread.
--
-- KEYS[1]  the thread's state
-- Returns  1 when there was something to delete, else 0
--
-- Invariants: {deleted, epoch, turn_id} stays for 24 h, so that a late owner, reaper
-- or viewer cannot resurrect it. T:submit:<id> and T:input:<id> run out by themselves
-- within 24 h: they hold ids and digests, no content, and cannot be found by the thread. The
-- first write is never refused.
local K, now = thread_keys(KEYS[1]), now_ms()
local st = state_read(K)
never_refused(K)
if st.deleted ~= '' or redis.call('EXISTS', K.state, K.log, K.messages) == 0 then return {0} end
for _, id in ipairs(redis.call('HKEYS', K.requests)) do redis.call('HDEL', K.U .. ':requests', id) end
for _, node in ipairs(redis.call('HKEYS', K.viewers)) do redis.call('SREM', node_key(K, node, 'viewing'), K.name) end
redis.call('UNLINK', K.state, K.log, K.messages, K.inputs, K.requests, K.queue, K.viewers, K.turns)
redis.call('ZREM', K.U .. ':threads', K.thread)
redis.call('SREM', K.U .. ':running', K.thread)
for _, index in ipairs({'turns', 'due', 'ready'}) do redis.call('ZREM', K.P .. index, K.name) end
redis.call('HSET', K.state, 'deleted', num(now), 'epoch', st.epoch, 'turn_id', st.turn_id)
redis.call('PEXPIRE', K.state, 86400000)
redis.call('PUBLISH', K.live, 'd\n')
if st.owner ~= '' and st.running then
  redis.call('SREM', node_key(K, st.owner, 'turns'), K.name)
  wake(K, st.owner)
end
return {1}
