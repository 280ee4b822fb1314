-- use: keys time state lost
-- lose: end a turn whose owner is unknown, or give it its next attempt.
--
-- KEYS[1]  the thread's state
-- ARGV     1 turn_id  2 attempt  3 owner, as sweep saw them
-- Returns  1 when the turn is lost now (or was lost by an earlier try), else 0
--
-- Invariants: acts only if turn, attempt and owner are still the same. The first write is never refused.
local K, now = thread_keys(KEYS[1]), now_ms()
local st = state_read(K)
never_refused(K)
if not st.running or st.turn_id ~= ARGV[1] or num(st.attempt) ~= ARGV[2] then return {0} end
if st.owner == '' and (st.lost_at > 0 or st.restart == '1') then return {1} end
if st.owner ~= ARGV[3] then return {0} end
if st.owner ~= '' then redis.call('SREM', node_key(K, st.owner, 'turns'), K.name) end
turn_lost(K, st, now)
return {1}
