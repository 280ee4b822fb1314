-- Reads a thread's state and a few words about it.
local function num(n)
  return string.format('%.0f', n)
end

-- state_read returns every field but the submission; texts default to '', numbers to 0.
local function state_read(K)
  local texts = {'epoch', 'turn_id', 'owner', 'status', 'outcome', 'finisher', 'policy', 'thread_policy', 'kind', 'kind_policy',
    'replid', 'client', 'closing', 'deleted', 'claim', 'restart', 'prev', 'remote', 'created_at'}
  local numbers = {'last_seq', 'pos', 'byte_base', 'ordinal', 'attempt', 'attempts', 'appended', 'grace_at', 'stop_at', 'request_at',
    'max_at', 'stall_after', 'last_append_at', 'detached_at', 'turn_first', 'last_message_seq', 'input_seq', 'consumed',
    'closed_first', 'open', 'lost_at'}
  local a, b = redis.call('HMGET', K.state, unpack(texts)), redis.call('HMGET', K.state, unpack(numbers))
  local st = {}
  for i, f in ipairs(texts) do st[f] = a[i] or '' end
  for i, f in ipairs(numbers) do st[f] = tonumber(b[i] or '') or 0 end
  st.running = st.status == 'running' and st.deleted == ''
  return st
end

-- closing_outcome: a fence is '!<outcome>', or the id of the superseding turn.
local function closing_outcome(closing)
  if string.sub(closing, 1, 1) == '!' then return string.sub(closing, 2) end
  return 'superseded'
end

-- running_turn describes the running turn to Go (RunningTurn).
local function running_turn(st)
  return {st.turn_id, num(st.attempt), st.owner, num(st.turn_first), num(st.last_seq), num(st.ordinal), st.epoch, st.policy,
    st.detached_at > 0 and '1' or '0', num(st.last_append_at)}
end

local POLICY_RANK = {[''] = 0, cancel = 1, grace = 2, preserve = 3}

local function stronger(a, b)
  if (POLICY_RANK[b] or 0) > (POLICY_RANK[a] or 0) then return b end
  return a
end

-- never_refused is a first write that Redis makes also when memory is full; the
-- writes of the same script that follow it are made too.
local function never_refused(K)
  redis.call('ZREM', K.P .. 'ready', '')
end

-- wake tells a node that one of its turns has something new.
local function wake(K, node)
  if node == '' then return end
  redis.call('SADD', node_key(K, node, 'inbox'), K.name)
  redis.call('PUBLISH', 'turnlog:node:' .. node, 'w ' .. K.p)
end

local function is_dead(K, node)
  return redis.call('ZSCORE', K.P .. 'dead', node) and true or false
end
