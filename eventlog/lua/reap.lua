-- use: keys time cfg state due requests submission log close viewers
-- reap: act on the deadlines of one thread that are past.
--
-- KEYS[1]  the thread's state
-- ARGV     1 settings  2 reaper's node  3 1: leave grace alone  4 epoch to use if a new one is due
--          5 turn_id  6 attempt  7 as of: the turn that the frames from 8 on (type, frame, ...) end
-- Returns  '' | 'ending' | 'ended', request ids expired,
--          ending: outcome, running turn: it is fenced now; ended: as finish
--
-- Invariants: everything is checked again here, so two reapers have one effect.
-- A turn is fenced before it is ended by others, so that its closing frames are complete.
-- What is fenced stays due until it has ended. The first write is never refused.
local K, cfg, now = thread_keys(KEYS[1]), cfg_parse(ARGV[1]), now_ms()
local reaper, skip_grace = ARGV[2], ARGV[3] == '1'
local st = state_read(K)
never_refused(K)
if not st.running then
  for _, index in ipairs({'due', 'turns'}) do redis.call('ZREM', K.P .. index, K.name) end
  redis.call('SREM', K.U .. ':running', K.thread)
  if st.deleted == '' and ARGV[5] ~= '' and ARGV[5] == st.turn_id and st.finisher == reaper and tonumber(ARGV[6]) == st.attempt then
    return {'ended', {}, finished_again(K, st, reaper)}
  end
  return {'', {}}
end

local function past(at) return at > 0 and at <= now end

-- The clocks of requests.
local expired = {}
if past(st.request_at) then
  for _, r in ipairs(requests_all(K)) do
    if r.state == 'o' and r.deadline > 0 and r.deadline <= now then
      r.state = 'a'
      request_store(K, r.id, r)
      st.input_seq = st.input_seq + 1
      redis.call('XADD', K.inputs, num(st.input_seq), 'id', 'expired-' .. r.id, 'kind', 'expired', 'request', r.id, 'payload', '')
      expired[#expired + 1] = r.id
    end
  end
  redis.call('HSET', K.state, 'input_seq', num(st.input_seq))
  requests_rearm(K)
  st.open = tonumber(redis.call('HGET', K.state, 'open')) or 0
  wake(K, st.owner)
end

-- Does the turn have to end, and how?
local outcome
if st.closing ~= '' then
  if past(st.stop_at) then outcome = closing_outcome(st.closing) end
elseif past(st.lost_at) then
  outcome = 'owner_lost'
elseif past(st.stop_at) then
  outcome = 'stopped'
elseif past(st.max_at) then
  outcome = 'timed_out'
elseif past(st.grace_at) and redis.call('HLEN', K.viewers) > 0 then
  redis.call('HDEL', K.state, 'grace_at', 'detached_at')
  st.grace_at, st.detached_at = 0, 0
  requests_resume(K, now)
elseif past(st.grace_at) and not skip_grace then
  outcome = 'detached'
elseif st.stall_after > 0 and st.open == 0 and st.last_append_at + st.stall_after <= now then
  outcome = 'stalled'
end

if not outcome then
  due_rearm(K)
  return {'', expired}
end
if st.closing ~= '' and ARGV[5] == st.turn_id and tonumber(ARGV[6]) == st.attempt and tonumber(ARGV[7]) == st.last_seq then
  numbering(K, st, ARGV[4], false)
  local frames = close_turn(K, st, now, cfg, outcome, reaper, closing_frames(8), 0)
  return {'ended', expired, finished_reply(st, true, frames)}
end
if st.closing == '' then
  redis.call('HSET', K.state, 'closing', '!' .. outcome, 'stop_at', num(now))
  wake(K, st.owner)
end
due_rearm(K)
return {'ending', expired, outcome, running_turn(st)}
