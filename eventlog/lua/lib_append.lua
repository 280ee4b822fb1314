-- use: entries
-- append_frames checks the fence and writes the frames; see append. moved is set to the number before
-- the first frame if this call, and not an earlier try of it, did so.
local moved
local function append_frames()
  local st = fenced_state()
  if st[1] == 'fenced' then return st end
  local n, seq = tonumber(ARGV[7]), tonumber(st[7])
  if st[6] ~= ARGV[6] then
    local appended, expected = tonumber(st[6]) or 0, tonumber(ARGV[6])
    if appended == expected + n then return seq end
    if appended < expected then return {'behind', appended, seq, st[11]} end
    return {'fenced', '', st[10]}
  end
  moved = seq
  if n > 0 then
    local refused = write_entries(st, seq, n, 8, string.format('%d', ARGV[6] + n))
    if refused then
      moved = nil
      return refused
    end
    seq = seq + n
  end
  return seq
end
