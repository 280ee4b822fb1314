-- use: keys due requests replid time
-- append_ops does what travels with frames: see append. base is the number before the call's first frame,
-- at the first operation's index in ARGV.
local function append_ops(base, at)
  if not ARGV[at] then return end
  local K, now, requests = thread_keys(KEYS[1]), now_ms(), false
  local set = {}
  local function put(field, value)
    set[#set + 1] = field
    set[#set + 1] = value
  end
  while ARGV[at] do
    local op = ARGV[at]
    if op == 'o' then
      request_open(K, ARGV[at + 2], base + tonumber(ARGV[at + 1]), ARGV[at + 3], ARGV[at + 4], tonumber(ARGV[at + 5]), ARGV[at + 6], now)
      requests, at = true, at + 7
    elseif op == 'c' then
      request_close(K, ARGV[at + 1])
      requests, at = true, at + 2
    elseif op == 'p' then
      put('checkpoint', ARGV[at + 1])
      at = at + 2
    elseif op == 'i' then
      local consumed = tonumber(redis.call('HGET', K.state, 'consumed') or '') or 0
      if tonumber(ARGV[at + 1]) > consumed then put('consumed', ARGV[at + 1]) end
      at = at + 2
    else -- m
      local master = replid()
      if master ~= '' then put('replid', master) end
      at = at + 1
    end
  end
  if #set > 0 then redis.call('HSET', K.state, unpack(set)) end
  if requests then requests_rearm(K) end
end
