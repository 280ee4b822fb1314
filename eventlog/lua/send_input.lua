-- use: keys time cfg state due requests submission
-- send_input: store an input for the running turn, then wake its owner.
--
-- KEYS[1]  the thread's state
-- ARGV     1 settings  2 turn_id, '' = whatever runs  3 input id  4 kind  5 request id (answers)  6 payload; of a steer the stored submission
--          7 kind of request that an answer fits, '' = any
-- Returns  verdict, turn_id, owner, turn ids dropped from the queue
--
-- Invariants: the same id is stored once within 24 h. The first answer to an open
-- request wins. A stop works when memory is full, and sets stop_at: whoever owns the turn, it ends.
local K, cfg, now = thread_keys(KEYS[1]), cfg_parse(ARGV[1]), now_ms()
local turn_id, id, kind, request = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local st = state_read(K)
local running = st.running and (turn_id == '' or turn_id == st.turn_id)
local target = running and st.turn_id or turn_id

local function store()
  st.input_seq = st.input_seq + 1
  redis.call('XADD', K.inputs, num(st.input_seq), 'id', id, 'kind', kind, 'request', request, 'payload', ARGV[6])
  redis.call('HSET', K.state, 'input_seq', num(st.input_seq))
end

local steer = kind == 'steer' and submission_parse(ARGV[6])
local memory = steer and submission_key(K, steer) or (K.T .. ':input:' .. id)
local known = redis.call('GET', memory)
if known then
  if steer then return {'duplicate', string.match(known, '^%S+'), st.owner, {}} end
  local words = {}
  for w in string.gmatch(known, '%S+') do words[#words + 1] = w ~= '=' and w or '' end
  return {'duplicate', table.remove(words, 1), st.owner, words}
end

if kind == 'stop' then
  never_refused(K)
  local dropped = {}
  if turn_id == '' then
    if running then -- steers that the agent has not taken wait like submissions
      for _, e in ipairs(redis.call('XRANGE', K.inputs, num(st.consumed + 1), '+')) do
        if e[2][4] == 'steer' then
          dropped[#dropped + 1] = submission_parse(e[2][8]).turn_id
          redis.call('XDEL', K.inputs, e[1])
        end
      end
    end
    for _, blob in ipairs(redis.call('LRANGE', K.queue, 0, -1)) do dropped[#dropped + 1] = submission_parse(blob).turn_id end
    redis.call('DEL', K.queue)
    if st.restart ~= '1' then redis.call('ZREM', K.P .. 'ready', K.name) end
  elseif not running then
    local _, blob = queue_find(K, turn_id)
    if blob then
      redis.call('LREM', K.queue, 1, blob)
      dropped[1] = turn_id
      if redis.call('LLEN', K.queue) == 0 and st.restart ~= '1' then redis.call('ZREM', K.P .. 'ready', K.name) end
    end
  end
  if running then
    store()
    -- Nobody runs a lost turn that waits for its next attempt: the reaper ends it now.
    local at = st.owner == '' and now or now + cfg.stop
    if st.stop_at == 0 or at < st.stop_at then redis.call('HSET', K.state, 'stop_at', num(at)) end
    due_rearm(K)
    wake(K, st.owner)
  end
  redis.call('SET', memory, (target ~= '' and target or '=') .. ' ' .. table.concat(dropped, ' '), 'PX', 86400000)
  if not running and not (turn_id ~= '' and #dropped > 0) then return {'not_running', target, '', dropped} end
  return {'accepted', target, running and st.owner or '', dropped}
end

if kind == 'answer' then
  local v = running and redis.call('HGET', K.requests, request)
  local r = v and request_parse(v)
  if not r or r.state ~= 'o' or (ARGV[7] ~= '' and ARGV[7] ~= r.kind) then return {'closed', target, '', {}} end
  store()
  r.state = 'a'
  request_store(K, request, r)
  requests_rearm(K)
else
  if not running then return {'not_running', target, '', {}} end
  if redis.call('XLEN', K.inputs) >= cfg.inputs then redis.call('XTRIM', K.inputs, 'MINID', num(st.consumed + 1)) end
  if redis.call('XLEN', K.inputs) >= cfg.inputs then return {'queue_full', target, '', {}} end
  store()
end
if steer then
  submission_remember(K, steer)
else
  redis.call('SET', memory, target, 'PX', 86400000)
end
wake(K, st.owner)
return {'accepted', target, st.owner, {}}
