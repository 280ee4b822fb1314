-- use: keys state due requests submission log viewers
-- Starts a turn or its next attempt; shared by begin and begin_next. The caller
-- has checked everything and called numbering().

local function policy_effective(st, cfg, sub)
  local asked = sub.policy
  if asked == '' and sub.headless then asked = 'preserve' end
  local p = stronger(stronger(asked, st.thread_policy), st.kind_policy)
  return p ~= '' and p or cfg.policy
end

-- started_frame is turn_started; the message goes in as it is.
local function started_frame(st, sub)
  return '{"type":"turn_started","attempt":' .. num(st.attempt) .. ',"on_disconnect":"' .. st.policy .. '","message":' .. sub.message .. '}'
end

-- turns_remember names the new turn and forgets those of which no frame is held.
local function turns_remember(K, st)
  redis.call('HSET', K.turns, num(st.ordinal), st.turn_id)
  local oldest = redis.call('XRANGE', K.log, '-', '+', 'COUNT', 1)[1]
  local from = oldest and tonumber(oldest[2][2]) or st.ordinal
  for _, ordinal in ipairs(redis.call('HKEYS', K.turns)) do
    if tonumber(ordinal) < from then redis.call('HDEL', K.turns, ordinal) end
  end
end

-- owner_set makes node the owner in every index.
local function owner_set(K, st, now, node)
  st.owner = node
  redis.call('SADD', node_key(K, node, 'turns'), K.name)
  redis.call('SADD', K.U .. ':running', K.thread)
  redis.call('ZADD', K.P .. 'turns', num(now), K.name)
  redis.call('ZREM', K.P .. 'ready', K.name)
  for _, key in ipairs({K.log, K.state, K.messages, K.queue, K.turns, K.viewers}) do redis.call('PERSIST', key) end
end

-- start_turn returns the stored turn_started frame. Its first write is one that
-- Redis refuses when memory is full.
local function start_turn(K, st, now, cfg, blob, sub, node, generation, claim)
  redis.call('HSET', K.state, 'epoch', st.epoch)
  local prev = ''
  if st.turn_id ~= '' and st.deleted == '' then
    prev = st.turn_id .. ' ' .. num(st.attempt) .. ' ' .. st.outcome .. ' ' .. st.finisher .. ' ' .. num(st.closed_first) .. ' ' .. num(st.last_seq) .. ' ' .. st.epoch
  end
  st.policy = policy_effective(st, cfg, sub)
  st.turn_id, st.attempt, st.ordinal, st.last_message_seq = sub.turn_id, 1, st.ordinal + 1, 0
  local gone = redis.call('HGET', K.state, 'gone')
  local client = gone and sub.conn ~= '' and string.find(gone .. ' ', ' ' .. sub.conn .. ' ', 1, true) and '' or sub.conn
  if gone and redis.call('LLEN', K.queue) == 0 then redis.call('HDEL', K.state, 'gone') end
  local started, out = started_frame(st, sub), {}
  log_add(K, st, out, 'turn_started', started)
  st.turn_first = st.last_seq
  redis.call('XADD', K.messages, num(st.last_seq), 'turn_id', st.turn_id, 'epoch', st.epoch, 'frame', sub.message)
  log_trim(K, st, cfg)
  st.status, st.running, st.owner, st.detached_at, st.grace_at = 'running', true, node, 0, 0
  redis.call('HSET', K.state, 'last_seq', num(st.last_seq), 'pos', num(st.pos), 'byte_base', num(st.byte_base), 'turn_id', st.turn_id,
    'ordinal', num(st.ordinal), 'attempt', '1', 'attempts', num(sub.attempts), 'owner', node, 'appended', '0', 'status', 'running', 'policy', st.policy,
    'last_append_at', num(now), 'turn_first', num(st.turn_first), 'last_message_seq', '0', 'submission', blob, 'replid', st.replid,
    'client', client, 'prev', prev, 'claim', claim, 'stall_after', num(sub.stall_ms), 'kind', st.kind, 'kind_policy', st.kind_policy)
  redis.call('HSETNX', K.state, 'created_at', num(now))
  redis.call('HDEL', K.state, 'deleted', 'outcome', 'finisher', 'closing', 'grace_at', 'stop_at', 'request_at', 'max_at', 'detached_at', 'restart',
    'lost_at', 'open', 'checkpoint', 'consumed', 'closed_first', 'attempt_first')
  if sub.max_ms > 0 then redis.call('HSET', K.state, 'max_at', num(now + sub.max_ms)) end
  redis.call('DEL', K.inputs, K.requests)
  turns_remember(K, st)
  owner_set(K, st, now, node)
  redis.call('ZADD', K.U .. ':threads', num(now), K.thread)
  redis.call('ZREMRANGEBYSCORE', K.U .. ':threads', '-inf', '(' .. num(now - tonumber(cfg.history)))
  redis.call('PEXPIRE', K.U .. ':threads', cfg.history)
  submission_remember(K, sub)
  if generation > 0 then viewer_add(K, st, node, generation, now) end
  if redis.call('HLEN', K.viewers) == 0 then -- born detached
    st.detached_at = now
    redis.call('HSET', K.state, 'detached_at', num(now))
    if st.policy == 'grace' then
      st.grace_at = now + cfg.grace
    elseif st.policy == 'cancel' then -- its viewer is about to come back, or never will
      st.grace_at = now + cfg.reconnect
    end
    if st.grace_at > 0 then redis.call('HSET', K.state, 'grace_at', num(st.grace_at)) end
  end
  remote_set(K, node)
  due_rearm(K)
  if st.jumped then redis.call('PUBLISH', K.live, 'e\n') end
  live_publish(K, st, node, out)
  return started
end

-- started_reply is what Go reads as Admission.
local function started_reply(st, first, started, blob)
  return {'started', st.turn_id, num(st.attempt), num(st.ordinal), st.epoch, num(first), started, st.policy, 0, st.status, {}, blob or ''}
end

-- started_again answers the same call sent twice.
local function started_again(K, st, claimed)
  local blob = redis.call('HGET', K.state, 'submission')
  local first = st.turn_first
  if st.attempt > 1 then first = tonumber(redis.call('HGET', K.state, 'attempt_first') or '') or first end
  local e = redis.call('XRANGE', K.log, num(first), num(first))[1]
  return started_reply(st, first, e and e[2][8] or started_frame(st, submission_parse(blob)), claimed and blob or '')
end
