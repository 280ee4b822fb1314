-- use: keys
-- append_ops does what travels with frames: see append. base is the number before the call's first frame,
-- at the first operation's index in ARGV.
local function append_ops(base, at)
  local set = {}
  while ARGV[at] do
    local op = ARGV[at]
    if op == 'p' then
      set[#set + 1] = 'checkpoint'
      set[#set + 1] = ARGV[at + 1]
      at = at + 2
    elseif op == 'i' then
      local seen = tonumber(redis.call('HGET', KEYS[1], 'input_seq') or '0') or 0
      if tonumber(ARGV[at + 1]) > seen then
        set[#set + 1] = 'input_seq'
        set[#set + 1] = ARGV[at + 1]
      end
      at = at + 2
    else
      at = at + 1
    end
  end
  if #set > 0 then redis.call('HSET', KEYS[1], unpack(set)) end
end
