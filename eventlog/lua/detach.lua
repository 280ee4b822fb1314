-- use: keys time cfg state due requests viewers
-- detach: a node does not view the thread any more.
--
-- KEYS[1]  the thread's state
-- ARGV     1 settings  2 node  3 generation  4 1: the server closed the socket
-- Returns  changed, last, ending, running turn
--
-- Invariants: a lower generation than the stored one changes nothing. The first write is never refused.
local K, cfg, now = thread_keys(KEYS[1]), cfg_parse(ARGV[1]), now_ms()
local node, generation = ARGV[2], tonumber(ARGV[3])
local stored = tonumber(redis.call('HGET', K.viewers, node) or '')
if not stored or stored > generation then return {0, 0, 0, {}} end
local st = state_read(K)
never_refused(K)
redis.call('HDEL', K.viewers, node)
redis.call('SREM', node_key(K, node, 'viewing'), K.name)
local last, ending = viewers_left(K, st, now, cfg, ARGV[4] == '1', now + cfg.stop)
return {1, last and 1 or 0, ending and 1 or 0, running_turn(st)}
