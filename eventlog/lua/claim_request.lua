-- use: keys due requests
-- claim_request: make a connection the target of an open request.
--
-- KEYS[1]  the thread's state
-- ARGV     1 request id  2 connection
-- Returns  1 when the connection is the target now, else 0
local K = thread_keys(KEYS[1])
local v = redis.call('HGET', K.requests, ARGV[1])
if not v then return {0} end
local r = request_parse(v)
if r.state ~= 'o' then return {0} end
if r.target == ARGV[2] then return {1} end
if r.target ~= '' or (r.prefer ~= '' and r.prefer ~= ARGV[2]) then return {0} end
r.target = ARGV[2]
request_store(K, ARGV[1], r)
return {1}
