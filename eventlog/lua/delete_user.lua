-- use: keys
-- delete_user: what is left of a user when its threads were deleted.
--
-- KEYS[1]  turnlog:{p}:<user>:threads
-- ARGV     1 how many threads to name
-- Returns  how many threads there are, then the oldest of them by activity
--
-- Invariants: the index of open requests goes when nothing of the user runs: only a
-- Redis that lost keys leaves something in it then.
local U = string.sub(KEYS[1], 1, -9)
if redis.call('EXISTS', U .. ':running') == 0 then redis.call('UNLINK', U .. ':requests') end
return {redis.call('ZCARD', KEYS[1]), unpack(redis.call('ZRANGE', KEYS[1], 0, tonumber(ARGV[1]) - 1))}
