-- Keeps the thread's one score in due: the nearest of its deadlines. Called
-- after every change of a deadline. A stall is lazy: its score may be
-- earlier than the truth, never later. It does not run while a request is open.
local function due_rearm(K)
  local v = redis.call('HMGET', K.state, 'status', 'grace_at', 'stop_at', 'request_at', 'max_at', 'stall_after', 'last_append_at', 'open', 'lost_at')
  local best
  if v[1] == 'running' then
    local function take(at)
      at = tonumber(at or '')
      if at and at > 0 and (not best or at < best) then best = at end
    end
    take(v[2]) take(v[3]) take(v[4]) take(v[5]) take(v[9])
    local stall = tonumber(v[6] or '') or 0
    if stall > 0 and (tonumber(v[8] or '') or 0) == 0 then take((tonumber(v[7] or '') or 0) + stall) end
  end
  if best then
    redis.call('ZADD', K.P .. 'due', best, K.name)
  else
    redis.call('ZREM', K.P .. 'due', K.name)
  end
end
