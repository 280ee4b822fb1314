-- use: keys time cfg state due requests submission log close viewers start
-- begin_next: claim what a thread has waiting: the next attempt of a lost turn, else the next submission.
--
-- KEYS[1]  the thread's state
-- ARGV     1 settings  2 node  3 epoch to use if a new one is due  4 token of this claim
-- Returns  as begin; the verdict is 'started', or '' when there was nothing to claim
--
-- Invariants: one node gets it; the same token again gets the same answer. What waits
-- behind a superseded turn waits for the superseder first. A
-- waiting cancel submission whose viewers left is dropped. The first write is one that Redis refuses when memory is full.
local K, cfg, now = thread_keys(KEYS[1]), cfg_parse(ARGV[1]), now_ms()
local node, claim = ARGV[2], ARGV[4]
local st = state_read(K)

if is_dead(K, node) then return {''} end
if st.running and st.owner == node and st.claim == claim then return started_again(K, st, true) end
if st.running and (st.restart ~= '1' or st.closing ~= '' or st.stop_at > 0) then return {''} end

if st.running then
  numbering(K, st, ARGV[3], false)
  redis.call('HSET', K.state, 'epoch', st.epoch)
  local blob = redis.call('HGET', K.state, 'submission')
  local out = {}
  for _, r in ipairs(requests_all(K)) do
    log_add(K, st, out, 'request_closed', '{"type":"request_closed","request_id":"' .. r.id .. '","reason":"restarted"}')
    request_close(K, r.id)
  end
  st.attempt = st.attempt + 1
  local started = started_frame(st, submission_parse(blob))
  log_add(K, st, out, 'turn_started', started)
  local first = st.last_seq
  log_trim(K, st, cfg)
  redis.call('HSET', K.state, 'last_seq', num(st.last_seq), 'pos', num(st.pos), 'byte_base', num(st.byte_base), 'attempt', num(st.attempt),
    'appended', '0', 'owner', node, 'claim', claim, 'attempt_first', num(first), 'last_append_at', num(now), 'replid', st.replid)
  redis.call('HDEL', K.state, 'restart', 'lost_at', 'client')
  redis.call('XTRIM', K.inputs, 'MINID', num(st.consumed + 1))
  owner_set(K, st, now, node)
  remote_set(K, node)
  requests_rearm(K)
  if st.jumped then redis.call('PUBLISH', K.live, 'e\n') end
  live_publish(K, st, node, out)
  return started_reply(st, first, started, blob)
end

if st.deleted ~= '' then
  redis.call('ZREM', K.P .. 'ready', K.name)
  return {''}
end
if (tonumber(redis.call('ZSCORE', K.P .. 'ready', K.name) or '') or 0) > now then return {''} end
local viewers = redis.call('HLEN', K.viewers)
while true do
  local blob = redis.call('LINDEX', K.queue, 0)
  if not blob then
    redis.call('ZREM', K.P .. 'ready', K.name)
    return {''}
  end
  local sub = submission_parse(blob)
  local unwanted = sub.policy == 'cancel' and viewers == 0 and stronger(st.thread_policy, st.kind_policy) ~= 'preserve'
  if not unwanted then
    numbering(K, st, ARGV[3], false)
    redis.call('HSET', K.state, 'epoch', st.epoch)
    redis.call('LPOP', K.queue)
    local started = start_turn(K, st, now, cfg, blob, sub, node, 0, claim)
    return started_reply(st, st.turn_first, started, blob)
  end
  redis.call('LPOP', K.queue)
end
