-- use: time
-- lead: take or extend the reaper's lease.
--
-- KEYS[1]  turnlog:{nodes}:reaper
-- ARGV     1 node  2 its term, 0 = none  3 lease in ms
-- Returns  leads, term
--
-- The term rises whenever the lease is taken. Works when memory is full.
local held = redis.call('GET', KEYS[1])
local since = 'turnlog:{nodes}:since'
local term
if held then
  local owner
  owner, term = string.match(held, '^(%S+) (%d+)$')
  if owner ~= ARGV[1] then return {0, tonumber(term)} end
end
redis.call('ZREM', 'turnlog:{nodes}:dead', '')
if held then
  redis.call('PEXPIRE', since, ARGV[3])
else
  term = string.format('%.0f', redis.call('INCR', 'turnlog:{nodes}:term'))
  redis.call('SET', since, string.format('%.0f', now_ms()), 'PX', ARGV[3])
end
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. term, 'PX', ARGV[3])
return {1, tonumber(term)}
