-- use: keys time cfg state due requests submission log close
-- finish: end a turn with its closing frames.
--
-- KEYS[1]  the thread's state
-- ARGV     1 settings  2 turn_id  3 attempt  4 owner, '' = any  5 finisher  6 outcome  7 consumed: highest input taken
--          8 as of: last number the frames take into account, 0 = any  9 epoch to use if a new one is due  10... type, frame, ...
-- Returns  'ended', won, outcome, first, last, epoch, ready, frames written
--          'fenced', outcome     the turn is not the caller's to end
--          'moved'               the log's end is not as of
--
-- Invariants: a turn ends once; whoever ended it and asks again is told so. A
-- turn that is fenced ends only with the fence's outcome. The first write is never refused.
local K, cfg, now = thread_keys(KEYS[1]), cfg_parse(ARGV[1]), now_ms()
local turn_id, attempt, owner, finisher, outcome = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local as_of = tonumber(ARGV[8])
local st = state_read(K)

if st.deleted ~= '' then return {'fenced', ''} end
if st.epoch == '' then return {as_of > 0 and 'moved' or 'fenced', ''} end
if st.turn_id ~= turn_id then
  local t, a, o, f, first, last, epoch = string.match(st.prev, '^(%S+) (%d+) (%S*) (%S*) (%d+) (%d+) (%S+)$')
  if t == turn_id and tonumber(a) == attempt then
    if f == finisher then
      st.outcome, st.finisher, st.closed_first, st.last_seq, st.epoch = o, f, tonumber(first), tonumber(last), epoch
      return finished_again(K, st, finisher)
    end
    return {'fenced', o}
  end
  return {'fenced', ''}
end
if not st.running then
  if st.attempt ~= attempt then return {'fenced', st.outcome} end
  return finished_again(K, st, finisher)
end
if st.attempt ~= attempt or (owner ~= '' and st.owner ~= owner) then return {'fenced', ''} end
if st.closing ~= '' and closing_outcome(st.closing) ~= outcome then return {'fenced', closing_outcome(st.closing)} end
if as_of > 0 and as_of ~= st.last_seq then return {'moved'} end
numbering(K, st, ARGV[9], finisher == st.owner)
local frames = close_turn(K, st, now, cfg, outcome, finisher, closing_frames(10), tonumber(ARGV[7]))
return finished_reply(st, true, frames)
