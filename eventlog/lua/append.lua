-- use: entries ops
-- append: the owner writes frames of its running turn.
--
-- KEYS[1]  the thread's state
-- ARGV     1 turn_id  2 attempt  3 owner  4 replay.max_frames  5 replay.max_bytes
--          6 appended: frames of this attempt in the log before this call  7 n
--          then n times: type, frame
--          then operations, each a letter and its arguments:
--            o <index of its frame, 1-based> <id> <kind> <name> <timeout ms> <prefer>   a request is opened
--            c <id>       a request is closed
--            p <state>    checkpoint
--            i <seq>      inputs consumed
--            m            confirm that the owner has seen this master
-- Returns  the thread's last_seq: the call is in the log, by this try or an earlier one
--          {'behind', appended, last_seq, epoch}    frames written before are missing; nothing written
--          {'broken', message}                      the log or the messages refuse the next number; nothing written
--          {'fenced', outcome, ordinal}             not the caller's turn; outcome 'superseded' while it is being
--                                                   ended, 'deleted' for a deleted thread; ordinal '' without a state
--
-- Invariants: nothing is written unless fence and count hold. The first write is one that Redis refuses
-- when memory is full; no later write fails. last_seq, pos and appended move with the frames, in one step.
local st = fenced_state()
if st[1] == 'fenced' then return st end
local n = tonumber(ARGV[7])
local appended, expected = tonumber(st[6]) or 0, tonumber(ARGV[6])
local seq = tonumber(st[7])
if appended ~= expected then
  if appended == expected + n then return seq end
  if appended < expected then return {'behind', appended, seq, st[11]} end
  return {'fenced', '', st[10]}
end
if n > 0 then
  local refused = write_entries(st, seq, n, 8)
  if refused then return refused end
  seq = seq + n
end
if ARGV[8 + 2 * n] then append_ops(seq - n, 8 + 2 * n) end
return seq
