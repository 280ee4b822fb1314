-- use: keys time cfg state due requests viewers
-- set_policy: raise the running turn's policy, or set the thread's default.
--
-- KEYS[1]  the thread's state
-- ARGV     1 settings  2 policy  3 turn | thread
-- Returns  'ok' | 'conflict', the policy in force afterwards
--
-- Invariants: a running turn's policy only rises, whatever the order of calls. A deleted thread is left alone.
local K, cfg, now = thread_keys(KEYS[1]), cfg_parse(ARGV[1]), now_ms()
local policy, scope = ARGV[2], ARGV[3]
local st = state_read(K)

local function effective()
  if st.running then return st.policy end
  local p = stronger(st.thread_policy, st.kind_policy)
  return p ~= '' and p or cfg.policy
end

if st.deleted ~= '' then return {'ok', cfg.policy} end
local floor = scope == 'thread' and st.kind_policy or stronger(st.thread_policy, st.kind_policy)
if policy == 'cancel' and floor == 'preserve' then return {'conflict', effective()} end
if scope == 'thread' then
  st.thread_policy = policy
  redis.call('HSET', K.state, 'thread_policy', policy)
  if redis.call('HSETNX', K.state, 'created_at', num(now)) == 1 then
    redis.call('ZADD', K.U .. ':threads', num(now), K.thread)
    redis.call('PEXPIRE', K.U .. ':threads', cfg.history)
    redis.call('PEXPIRE', K.state, cfg.history)
  end
end
if policy ~= '' and policy_raise(K, st, policy, cfg) then
  st.input_seq = st.input_seq + 1
  redis.call('XADD', K.inputs, num(st.input_seq), 'id', 'policy-' .. policy, 'kind', 'policy', 'request', '', 'payload', '{"policy":"' .. policy .. '"}')
  redis.call('HSET', K.state, 'input_seq', num(st.input_seq))
  wake(K, st.owner)
end
return {'ok', effective()}
