-- use: keys state due viewers
-- turn_lost: the owner of a running turn is no more. A turn that may have another
-- attempt becomes ready; any other is due at once, and reap ends it.
local function turn_lost(K, st, now)
  if st.attempt < st.attempts and st.closing == '' and st.stop_at == 0 then
    redis.call('HSET', K.state, 'owner', '', 'restart', '1')
    redis.call('ZADD', K.P .. 'ready', num(now), K.name)
    remote_set(K, '')
  else
    redis.call('HSET', K.state, 'owner', '', 'lost_at', num(now))
    due_rearm(K)
  end
end
