-- use: keys state due requests submission log
-- Ends the running turn; shared by begin (superseding), finish and reap. The
-- caller has checked everything: numbering() was called, frames fit the log.

-- closing_frames reads ARGV from index at on: type, frame, ...
local function closing_frames(at)
  local out = {}
  for i = at, #ARGV - 1, 2 do out[#out + 1] = {ARGV[i], ARGV[i + 1]} end
  return out
end

-- close_turn: the first write is one that Redis never refuses. It returns the
-- frames written: seq, ordinal, type, frame, ...
local function close_turn(K, st, now, cfg, outcome, finisher, frames, consumed)
  redis.call('ZREM', K.P .. 'turns', K.name)
  local out = {}
  for _, r in ipairs(requests_all(K)) do
    local reason = r.state == 'a' and 'answered' or 'turn_ended'
    log_add(K, st, out, 'request_closed', '{"type":"request_closed","request_id":"' .. r.id .. '","reason":"' .. reason .. '"}')
    redis.call('HDEL', K.U .. ':requests', r.id)
  end
  for _, f in ipairs(frames) do log_add(K, st, out, f[1], f[2]) end
  log_trim(K, st, cfg)

  -- Steers that the agent did not take are the next submissions, in their order, before those that wait.
  local steers = redis.call('XREVRANGE', K.inputs, '+', num(math.max(consumed, st.consumed) + 1))
  for _, e in ipairs(steers) do
    local f = {}
    for i = 1, #e[2], 2 do f[e[2][i]] = e[2][i + 1] end
    if f.kind == 'steer' then redis.call('LPUSH', K.queue, f.payload) end
  end

  local first = #out > 0 and out[1] or num(st.last_seq + 1)
  redis.call('HSET', K.state, 'epoch', st.epoch, 'last_seq', num(st.last_seq), 'pos', num(st.pos), 'byte_base', num(st.byte_base), 'status', 'finished',
    'outcome', outcome, 'finisher', finisher, 'closed_first', first, 'last_message_seq', num(st.last_message_seq), 'replid', st.replid)
  redis.call('HDEL', K.state, 'closing', 'grace_at', 'stop_at', 'request_at', 'max_at', 'stall_after', 'detached_at', 'submission', 'client',
    'claim', 'restart', 'lost_at', 'open', 'checkpoint', 'consumed', 'attempts', 'attempt_first')
  redis.call('DEL', K.inputs, K.requests)
  redis.call('SREM', K.U .. ':running', K.thread)
  if st.owner ~= '' then redis.call('SREM', node_key(K, st.owner, 'turns'), K.name) end
  redis.call('ZREM', K.P .. 'due', K.name)
  redis.call('ZADD', K.U .. ':threads', num(now), K.thread)
  redis.call('PEXPIRE', K.U .. ':threads', cfg.history)
  redis.call('PEXPIRE', K.log, cfg.replay)
  redis.call('PEXPIRE', K.turns, cfg.replay)
  for _, key in ipairs({K.state, K.messages, K.queue, K.viewers}) do redis.call('PEXPIRE', key, cfg.history) end
  if redis.call('LLEN', K.queue) > 0 then
    -- A superseder goes before what waits, and is on its way here unless it died.
    local superseded = outcome == 'superseded'
    redis.call('ZADD', K.P .. 'ready', num(superseded and now + 2000 or now), K.name)
    st.ready = superseded and '0' or '1'
  else
    redis.call('ZREM', K.P .. 'ready', K.name)
    st.ready = '0'
  end
  if st.jumped then redis.call('PUBLISH', K.live, 'e\n') end
  live_publish(K, st, finisher, out)
  if st.owner ~= finisher then wake(K, st.owner) end
  st.status, st.running, st.outcome, st.finisher, st.closed_first = 'finished', false, outcome, finisher, tonumber(first)
  st.closing, st.stop_at, st.grace_at, st.detached_at, st.consumed = '', 0, 0, 0, 0
  return out
end

-- finished_reply is what Go reads as Finished.
local function finished_reply(st, won, frames)
  return {'ended', won and 1 or 0, st.outcome, num(st.closed_first), num(st.last_seq), st.epoch, st.ready or '0', frames}
end

-- finished_again answers a finisher that asks twice: the frames are read back.
local function finished_again(K, st, finisher)
  local out = {}
  local won = st.finisher == finisher
  if won and st.closed_first <= st.last_seq then
    for _, e in ipairs(redis.call('XRANGE', K.log, num(st.closed_first), num(st.last_seq))) do
      local f = e[2]
      out[#out + 1] = string.match(e[1], '^%d+')
      out[#out + 1] = f[2]
      out[#out + 1] = f[4]
      out[#out + 1] = f[8]
    end
  end
  st.ready = st.outcome ~= 'superseded' and redis.call('LLEN', K.queue) > 0 and '1' or '0'
  return finished_reply(st, won, out)
end
