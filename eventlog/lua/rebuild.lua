-- use: entries ops
-- rebuild: the owner writes again what a failover lost of its running turn.
--
-- KEYS[1]  the thread's state
-- ARGV     1 turn_id  2 attempt  3 owner  4 replay.max_frames  5 replay.max_bytes
--          6 appended: frames of this attempt that the state knows  7 n
--          8 gap: frames lost that the owner no longer has  9 last_seq as the owner knows it  10 its epoch
--          11 new epoch, or '' to write under the same numbers
--          then n times: type, frame; then operations as in append
-- Returns  {'ok', last_seq, epoch, first}      by this try or an earlier one; first is the number of the first frame
--          {'behind', appended, last_seq, epoch}  the state moved once more; nothing written
--          {'broken', message}                 the same numbers cannot be used; nothing written
--          {'fenced', outcome, ordinal}        not the caller's turn
--
-- Invariants: acts only while no other turn has begun and the thread was not deleted. Under the same
-- numbers, frame k is what it was. Under a new epoch, numbers continue 65,536 above everything that was
-- ever seen, so that clients that know no epochs see that they are behind; the log begins with them.
local st = fenced_state()
if st[1] == 'fenced' then return st end
local n, gap = tonumber(ARGV[7]), tonumber(ARGV[8])
local from, appended, seq = tonumber(ARGV[6]), tonumber(st[6]) or 0, tonumber(st[7])
local fresh = ARGV[11] ~= ''
if appended ~= from or (fresh and st[11] == ARGV[11]) then
  if appended == from + gap + n and st[11] == (fresh and ARGV[11] or ARGV[10]) then return {'ok', seq, st[11], seq - n + 1} end
  return {'behind', appended, seq, st[11]}
end
local T = string.sub(KEYS[1], 1, -6)
if fresh then
  seq = math.max(seq, tonumber(ARGV[9]), top_seq(T .. 'log'), top_seq(T .. 'messages')) + 65536
  st[11] = ARGV[11]
elseif gap > 0 or st[11] ~= ARGV[10] or seq + n ~= tonumber(ARGV[9]) then
  return {'broken', 'numbers'}
end
local first = seq + 1
if n > 0 then
  local refused = write_entries(st, seq, n, 12, string.format('%d', from + gap + n))
  if refused then return refused end
  seq = seq + n
end
if fresh then
  redis.call('XTRIM', T .. 'log', 'MINID', string.format('%d', first))
  redis.call('HSET', KEYS[1], 'epoch', ARGV[11], 'last_seq', string.format('%d', seq), 'appended', string.format('%d', from + gap + n))
  if st[12] == '1' then redis.call('PUBLISH', T .. 'live', 'e\n') end
end
append_ops(first - 1, 12 + 2 * n)
return {'ok', seq, st[11], first}
