-- use: keys time cfg state due requests viewers lineage
-- set_thread: create a thread or change its metadata; empty fields stay as they are.
--
-- KEYS[1]  the thread's state
-- ARGV     1 settings  2 title  3 kind  4 kind_policy  5 thread policy  6 continues  7 branch_of (encoded thread ids, one of them at most)
--          8 kind  9 kind_policy: of the admission rules, for a thread that is created here and gets no kind otherwise
--          10 number of the parent's last row that its history shows; 0 the newest, negative none  11 longest lineage
-- Returns  'ok' | 'conflict' | {'lineage', 'cycle' | 'exists'}: nothing was written
--
-- Invariants: kind and policy of the thread continued, and the lineage, are taken when this one is created, never later.
-- The first write is one that Redis refuses when memory is full.
local K, cfg, now = thread_keys(KEYS[1]), cfg_parse(ARGV[1]), now_ms()
local title, kind, kind_policy, policy, continues, branch = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local parent = continues ~= '' and continues or branch
local st = state_read(K)
local fresh = st.created_at == '' or st.deleted ~= ''
local lineage = ''
if parent ~= '' and fresh then
  lineage = lineage_of(K, parent, ARGV[10], tonumber(ARGV[11]))
  if not lineage then return {'lineage', 'cycle'} end
elseif parent ~= '' then
  local stored = redis.call('HMGET', K.state, 'continues', 'branch_of')
  if (stored[1] or '') ~= continues or (stored[2] or '') ~= branch then return {'lineage', 'exists'} end
end
if fresh then
  st.kind, st.kind_policy, st.thread_policy = '', '', ''
  if continues ~= '' then
    local from = redis.call('HMGET', K.U .. '/' .. continues .. ':state', 'kind', 'kind_policy', 'thread_policy')
    st.kind, st.kind_policy, st.thread_policy = from[1] or '', from[2] or '', from[3] or ''
  end
end
if fresh and continues == '' and kind == '' then kind, kind_policy = ARGV[8], ARGV[9] end
if kind ~= '' then st.kind, st.kind_policy = kind, kind_policy end
if policy ~= '' then st.thread_policy = policy end
if policy == 'cancel' and st.kind_policy == 'preserve' then return {'conflict'} end
if fresh then
  redis.call('HSET', K.state, 'created_at', num(now))
  redis.call('DEL', K.state)
  redis.call('HSET', K.state, 'created_at', num(now))
  if continues ~= '' then redis.call('HSET', K.state, 'continues', continues) end
  if branch ~= '' then redis.call('HSET', K.state, 'branch_of', branch) end
  if lineage ~= '' then redis.call('HSET', K.state, 'lineage', lineage) end
end
redis.call('HSET', K.state, 'kind', st.kind, 'kind_policy', st.kind_policy, 'thread_policy', st.thread_policy)
if title ~= '' then redis.call('HSET', K.state, 'title', title) end
if not st.running then redis.call('PEXPIRE', K.state, cfg.history) end
redis.call('ZADD', K.U .. ':threads', num(now), K.thread)
redis.call('PEXPIRE', K.U .. ':threads', cfg.history)
policy_raise(K, st, stronger(st.thread_policy, st.kind_policy), cfg)
return {'ok'}
