-- use: keys time cfg state due requests submission log close viewers start
-- begin: admit a submission.
--
-- KEYS[1]  the thread's state
-- ARGV     1 settings  2 node  3 the node's viewer generation, 0 = it does not watch  4 on_busy  5 quota, 0 = none
--          6 kind  7 kind_policy: of the admission rules, used while the thread's kind is not settled  8 epoch to use if a new one is due  9 stored submission
--          10 turn_id  11 attempt  12 as of: the running turn that the frames from 13 on (type, frame, ...) end
-- Returns  verdict, turn_id, attempt, ordinal, epoch, first_seq, turn_started, policy, position, status, running turn, submission
--
-- Invariants: sent twice, the second answer is the first one's. What is refused
-- leaves nothing behind. The first write is one that Redis refuses when memory is full.
-- A running turn that is superseded is fenced first ('superseding'): its
-- log cannot move any more, so the frames given for it are complete.
local K, cfg, now = thread_keys(KEYS[1]), cfg_parse(ARGV[1]), now_ms()
local node, generation, on_busy, quota = ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local blob = ARGV[9]
local sub = submission_parse(blob)
local st = state_read(K)

if is_dead(K, node) then return {'node_dead'} end
if st.turn_id == sub.turn_id and st.deleted ~= '' then return {'deleted'} end
if st.turn_id == sub.turn_id and st.running and st.owner == node then return started_again(K, st, false) end

local known = redis.call('GET', submission_key(K, sub))
if known and st.deleted == '' then
  local turn_id, digest = string.match(known, '^(%S+) (%S+)$')
  if digest ~= '=' and sub.digest ~= '' and digest ~= sub.digest then return {'idempotency_conflict', turn_id} end
  local place = queue_find(K, turn_id)
  local verdict, status = 'duplicate', 'finished'
  if place then
    status = ''
    if turn_id == sub.turn_id then verdict = 'queued' end -- the same call sent twice
  elseif st.turn_id == turn_id then
    status = st.status
  elseif st.running and redis.call('EXISTS', K.inputs) == 1 then
    status = '' -- a steer that the running turn has not taken, or has
  end
  local same = st.turn_id == turn_id
  return {verdict, turn_id, same and num(st.attempt) or 0, same and num(st.ordinal) or 0, st.epoch, same and num(st.turn_first) or 0, '',
    st.policy, place or 0, status}
end

if st.deleted ~= '' then st.thread_policy = '' end
-- A kind is settled once, by metadata or by the first turn; set_policy alone does not settle it.
if st.deleted ~= '' or redis.call('HEXISTS', K.state, 'kind') == 0 then st.kind, st.kind_policy = ARGV[6], ARGV[7] end
local floor = stronger(st.thread_policy, st.kind_policy)
if sub.policy == 'cancel' and (floor == 'preserve' or sub.headless) then return {'policy_conflict', sub.turn_id} end

local waiting = redis.call('LLEN', K.queue)
local closing = st.running and ARGV[10] == st.turn_id and tonumber(ARGV[11]) == st.attempt and tonumber(ARGV[12]) == st.last_seq
  and st.closing ~= ''
if st.running and on_busy == 'reject' then
  return {'busy', sub.turn_id, 0, 0, st.epoch, 0, '', '', 0, '', running_turn(st)}
end
if (st.running and on_busy == 'enqueue') or (not st.running and waiting > 0 and on_busy ~= 'supersede') then
  if waiting >= cfg.queue then return {'queue_full', sub.turn_id} end
  redis.call('RPUSH', K.queue, blob)
  submission_remember(K, sub)
  if st.running then
    redis.call('PERSIST', K.queue)
  else
    redis.call('PEXPIRE', K.queue, cfg.history)
    redis.call('ZADD', K.P .. 'ready', 'NX', num(now), K.name)
  end
  if generation > 0 then viewer_add(K, st, node, generation, now) end
  if st.running then due_rearm(K) end
  return {'queued', sub.turn_id, 0, 0, st.epoch, 0, '', st.policy, waiting + 1, ''}
end
if st.running and not closing then
  if st.closing == '' then redis.call('HSET', K.state, 'closing', sub.turn_id) end
  if st.stop_at == 0 or now + cfg.stop < st.stop_at then
    redis.call('HSET', K.state, 'stop_at', num(now + cfg.stop))
    due_rearm(K)
  end
  if st.closing == '' then wake(K, st.owner) end
  return {'superseding', sub.turn_id, 0, 0, st.epoch, 0, '', '', 0, '', running_turn(st)}
end
if quota > 0 and not st.running and redis.call('SCARD', K.U .. ':running') >= quota then return {'quota_exceeded', sub.turn_id} end

if st.deleted ~= '' then
  st.ordinal, st.attempt, st.last_seq, st.pos, st.byte_base, st.turn_id = 0, 0, 0, 0, 0, ''
end
numbering(K, st, ARGV[8], false)
redis.call('HSET', K.state, 'epoch', st.epoch)
if st.running then close_turn(K, st, now, cfg, closing_outcome(st.closing), node, closing_frames(13), 0) end
local started = start_turn(K, st, now, cfg, blob, sub, node, generation, '')
return started_reply(st, st.turn_first, started, '')
