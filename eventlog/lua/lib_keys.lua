-- Derives a thread's sibling keys from its state key; all share one hash slot.
-- K.log, K.state, K.messages, K.inputs, K.requests, K.queue, K.viewers, K.turns
-- and K.live are the thread's; K.P is the partition's prefix (K.P .. 'due'),
-- K.U the user's (K.U .. ':running'); K.name is <user>/<thread>, the member
-- in sets, K.thread the thread alone, K.p the partition's number.
local function thread_keys(state_key)
  local T = string.sub(state_key, 1, -7)
  local P, p, user, thread = string.match(T, '^(turnlog:{(%d+)}:)([^/]+)/(.+)$')
  local K = {T = T, P = P, p = p, user = user, thread = thread, U = P .. user, name = user .. '/' .. thread}
  return setmetatable(K, {__index = function(_, field) return T .. ':' .. field end})
end

-- Keys of a node in this partition: node_key(K, id, 'turns' | 'viewing' | 'inbox').
local function node_key(K, node, field)
  return K.P .. 'node:' .. node .. ':' .. field
end
