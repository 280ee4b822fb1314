-- use: state keys time
-- running: read one page of a partition's running turns.
--
-- KEYS[1]  turnlog:{p}:turns
-- ARGV     1 cursor, '0' at first  2 page size  then the fields of the state to read
-- Returns  the next cursor, '0' at the end; then thread and its fields, for each turn of the page
--
-- Invariants: writes nothing. A turn that runs during the whole round is seen
-- at least once, however many others begin and end meanwhile.
local P = string.sub(KEYS[1], 1, -6)
local page = redis.call('ZSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local out = {page[1]}
for i = 1, #page[2], 2 do
  local name = page[2][i]
  out[#out + 1] = {name, unpack(redis.call('HMGET', P .. name .. ':state', unpack(ARGV, 3)))}
end
return out
