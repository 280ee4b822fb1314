-- use: append ops
-- append_ops: append with operations. Apart, because most appends have none, and every function that a
-- script defines costs at each call.
local reply = append_frames()
if type(reply) == 'number' and moved then append_ops(moved, 8 + 2 * tonumber(ARGV[7])) end
return reply
