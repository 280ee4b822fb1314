-- use: keys due requests
-- release_conn: a connection went away; what waited for it waits for whoever fits.
--
-- KEYS[1]  the thread's state
-- ARGV     1 connection
-- Returns  the ids of the open requests released
--
-- The viewers of the thread are told, also where only the owner looks.
local K = thread_keys(KEYS[1])
local conn = ARGV[1]
if redis.call('LLEN', K.queue) > 0 then -- it may have submitted what waits there
  local gone = redis.call('HGET', K.state, 'gone') or ''
  if not string.find(gone .. ' ', ' ' .. conn .. ' ', 1, true) then
    redis.call('HSET', K.state, 'gone', string.sub(gone .. ' ' .. conn, -4000))
  end
end
return requests_release(K, function(c) return c == conn end)
