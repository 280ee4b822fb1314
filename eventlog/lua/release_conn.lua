-- use: keys due requests
-- release_conn: a connection went away; what waited for it waits for whoever fits.
--
-- KEYS[1]  the thread's state
-- ARGV     1 connection
-- Returns  the ids of the open requests released
--
-- The viewers of the thread are told, also where only the owner looks.
local K = thread_keys(KEYS[1])
local conn, out = ARGV[1], {}
for _, r in ipairs(requests_all(K)) do
  if r.state == 'o' and (r.target == conn or r.prefer == conn) then
    r.target, r.prefer = '', ''
    request_store(K, r.id, r)
    redis.call('PUBLISH', K.live, 'r ' .. r.id .. '\n')
    out[#out + 1] = r.id
  end
end
if redis.call('HGET', K.state, 'client') == conn then redis.call('HDEL', K.state, 'client') end
return out
