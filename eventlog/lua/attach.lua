-- use: keys time cfg state due requests viewers
-- attach: register a viewing node and return one consistent look at the thread.
--
-- KEYS[1]  the thread's state
-- ARGV     1 settings  2 node  3 generation, 0 = only look  4 cursor  5 its epoch  6 cursor | full | live
--          7 policy to raise to  8 frames and 9 bytes of the first page
-- Returns  status, outcome, epoch, turn_id, attempt, ordinal, last_seq, turn_first, last_message_seq, first held,
--          policy, owner, grace_at, open requests (id, kind, name, seq, target, frame), page (seq, ordinal, type, frame),
--          turn ids of the page (ordinal, id), bytes of the frames behind the page
--          'dead'    the node was declared dead
--          'policy'  cancel where the thread or its kind says preserve
--
-- Invariants: never creates a state, never prolongs a log. An older generation
-- than the stored one changes nothing. The first write is never refused.
local K, cfg, now = thread_keys(KEYS[1]), cfg_parse(ARGV[1]), now_ms()
local node, generation, cursor, cursor_epoch, from, policy = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6], ARGV[7]
local st = state_read(K)
if generation > 0 and is_dead(K, node) then return {'dead'} end
if policy == 'cancel' and st.deleted == '' and stronger(st.thread_policy, st.kind_policy) == 'preserve' then return {'policy'} end

if generation > 0 or (policy ~= '' and st.running) then
  never_refused(K)
  if generation > 0 then viewer_add(K, st, node, generation, now) end
  if policy ~= '' then policy_raise(K, st, policy, cfg) end
  if st.running then due_rearm(K) end
end

local oldest = redis.call('XRANGE', K.log, '-', '+', 'COUNT', 1)[1]
local held = oldest and tonumber(string.match(oldest[1], '^%d+')) or 0
local status = 'unknown'
if st.running then
  status = 'running'
elseif st.status == 'finished' and st.deleted == '' and oldest then
  status = 'finished'
end

local open = {}
if st.running then
  for _, r in ipairs(requests_all(K)) do
    local e = r.state == 'o' and redis.call('XRANGE', K.log, num(r.seq), num(r.seq))[1]
    if e then
      for _, v in ipairs({r.id, r.kind, r.name, num(r.seq), r.target, e[2][8]}) do open[#open + 1] = v end
    end
  end
end

local page, turns, named, rest = {}, {}, {}, 0
if status ~= 'unknown' and from ~= 'live' then
  local start = math.max(st.turn_first, st.last_message_seq + 1)
  if from == 'full' then
    start = 1
  elseif cursor > 0 and cursor <= st.last_seq and (cursor_epoch == '' or cursor_epoch == st.epoch) then
    start = cursor + 1
  end
  local left, bytes = tonumber(ARGV[8]), tonumber(ARGV[9])
  while left > 0 and start <= st.last_seq do
    local n = math.min(left, 32)
    local entries = redis.call('XRANGE', K.log, num(start), '+', 'COUNT', n)
    for _, e in ipairs(entries) do
      local frame = e[2][8]
      bytes = bytes - #frame
      if bytes < 0 and #page > 0 then left = 0 break end
      local seq = string.match(e[1], '^%d+')
      local ordinal = e[2][2]
      for _, v in ipairs({seq, ordinal, e[2][4], frame}) do page[#page + 1] = v end
      if not named[ordinal] then
        named[ordinal] = true
        turns[#turns + 1], turns[#turns + 2] = ordinal, redis.call('HGET', K.turns, ordinal) or ''
      end
      rest = math.max(st.pos - (tonumber(e[2][6]) or 0), 0)
      left, start = left - 1, tonumber(seq) + 1
    end
    if #entries < n then break end
  end
end

return {status, st.outcome, st.epoch, st.turn_id, num(st.attempt), num(st.ordinal), num(st.last_seq), num(st.turn_first), num(st.last_message_seq),
  num(held), st.policy, st.owner, num(st.grace_at), open, page, turns, num(rest)}
