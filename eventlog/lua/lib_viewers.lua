-- use: keys state due requests
-- Viewers of a thread, and what their coming and going means for its turn.

-- remote_set keeps state.remote: somebody else than the owner looks, so append publishes.
local function remote_set(K, owner)
  local remote = '0'
  for _, node in ipairs(redis.call('HKEYS', K.viewers)) do
    if node ~= owner then remote = '1' end
  end
  redis.call('HSET', K.state, 'remote', remote)
end

-- viewer_add registers a node; an older generation changes nothing. A thread
-- without a state keeps its viewers for an hour, one that waits for its next turn as long as its history.
local function viewer_add(K, st, node, generation, now)
  local old = tonumber(redis.call('HGET', K.viewers, node) or '')
  if old and old > generation then return end
  redis.call('HSET', K.viewers, node, num(generation))
  redis.call('SADD', node_key(K, node, 'viewing'), K.name)
  if not st.running then
    local state = redis.call('PTTL', K.state)
    redis.call('PEXPIRE', K.viewers, st.epoch ~= '' and st.deleted == '' and state > 0 and state or 3600000)
    return
  end
  redis.call('PERSIST', K.viewers)
  if st.detached_at > 0 then
    redis.call('HDEL', K.state, 'detached_at', 'grace_at')
    st.detached_at, st.grace_at = 0, 0
    requests_resume(K, now)
  end
  remote_set(K, st.owner)
end

-- viewers_left acts when a viewer was removed: if it was the last one, the
-- turn's policy decides. end_at is when the reaper ends a cancel turn that nobody ends
-- before. Returns last, ending.
local function viewers_left(K, st, now, cfg, by_server, end_at)
  if not st.running then return false, false end
  remote_set(K, st.owner)
  if redis.call('HLEN', K.viewers) > 0 then return false, false end
  if st.detached_at > 0 then return true, false end
  st.detached_at = now
  redis.call('HSET', K.state, 'detached_at', num(now))
  local ending = false
  if st.policy == 'grace' then
    st.grace_at = now + cfg.grace
  elseif st.policy == 'cancel' and by_server then
    st.grace_at = now + cfg.reconnect
  elseif st.policy == 'cancel' and st.closing == '' and st.lost_at == 0 then
    ending = true
    st.closing = '!detached'
    if st.stop_at == 0 or end_at < st.stop_at then st.stop_at = end_at end
    redis.call('HSET', K.state, 'closing', st.closing, 'stop_at', num(st.stop_at))
    wake(K, st.owner)
  end
  if st.grace_at > 0 then redis.call('HSET', K.state, 'grace_at', num(st.grace_at)) end
  requests_pause(K, now)
  return true, ending
end

-- policy_raise makes a running turn's policy at least p, and moves the grace of a detached one.
local function policy_raise(K, st, p, cfg)
  if not st.running or POLICY_RANK[p] <= POLICY_RANK[st.policy] then return false end
  st.policy = p
  redis.call('HSET', K.state, 'policy', p)
  if st.detached_at > 0 then
    st.grace_at = p == 'grace' and st.detached_at + cfg.grace or 0
    redis.call('HSET', K.state, 'grace_at', st.grace_at > 0 and num(st.grace_at) or '')
    due_rearm(K)
  end
  return true
end
