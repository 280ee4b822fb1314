-- use: keys due
-- Requests of the running turn. T:requests maps an id to
--   <seq> <o|a> <kind> <deadline> <remaining> <target> <prefer> <name>
-- o: open; a: answered, but the owner has not logged request_closed yet.
-- deadline: Unix ms, 0 = none, or the clock is stopped and remaining > 0 says
-- what is left of it. target, prefer: connections, '=' = nobody.
local function request_parse(v)
  local seq, state, kind, deadline, remaining, target, prefer, name = string.match(v, '^(%d+) (%a) (%S+) (%d+) (%d+) (%S+) (%S+) (.*)$')
  return {seq = tonumber(seq), state = state, kind = kind, deadline = tonumber(deadline), remaining = tonumber(remaining),
    target = target ~= '=' and target or '', prefer = prefer ~= '=' and prefer or '', name = name}
end

local function request_store(K, id, r)
  local function word(s)
    if s == '' then return '=' end
    return (string.gsub(s, '%s', '_'))
  end
  redis.call('HSET', K.requests, id, string.format('%.0f %s %s %.0f %.0f %s %s %s', r.seq, r.state, word(r.kind), r.deadline, r.remaining,
    word(r.target), word(r.prefer), r.name))
end

-- requests_all lists them in the order of their frames.
local function requests_all(K)
  local flat = redis.call('HGETALL', K.requests)
  local out = {}
  for i = 1, #flat, 2 do
    local r = request_parse(flat[i + 1])
    r.id = flat[i]
    out[#out + 1] = r
  end
  table.sort(out, function(a, b)
    if a.seq ~= b.seq then return a.seq < b.seq end
    return a.id < b.id
  end)
  return out
end

-- requests_rearm keeps state.open (their number) and state.request_at (their
-- nearest deadline), then due. Call it once after any change below.
local function requests_rearm(K)
  local open, at = 0, nil
  for _, r in ipairs(requests_all(K)) do
    if r.state == 'o' then
      open = open + 1
      if r.deadline > 0 and (not at or r.deadline < at) then at = r.deadline end
    end
  end
  redis.call('HSET', K.state, 'open', open, 'request_at', at and string.format('%.0f', at) or '')
  due_rearm(K)
end

-- requests_release lets go of the open requests of connections that went away: left(conn) says which. What
-- waited for them waits for whoever fits, and the thread's viewers are told. It returns the ids.
local function requests_release(K, left)
  local out = {}
  for _, r in ipairs(requests_all(K)) do
    if r.state == 'o' and (left(r.target) or left(r.prefer)) then
      r.target, r.prefer = '', ''
      request_store(K, r.id, r)
      redis.call('PUBLISH', K.live, 'r ' .. r.id .. '\n')
      out[#out + 1] = r.id
    end
  end
  local client = redis.call('HGET', K.state, 'client')
  if client and left(client) then redis.call('HDEL', K.state, 'client') end
  return out
end

-- request_open registers a request under the number of its frame. It waits for the preferred connection only
-- while that is still there: state.client is forgotten when it leaves.
local function request_open(K, id, seq, kind, name, timeout, prefer, now)
  local detached = (tonumber(redis.call('HGET', K.state, 'detached_at') or '') or 0) > 0
  if prefer ~= '' and redis.call('HGET', K.state, 'client') ~= prefer then prefer = '' end
  local r = {seq = seq, state = 'o', kind = kind, deadline = 0, remaining = 0, target = '', prefer = prefer, name = name}
  if timeout > 0 then
    if detached then r.remaining = timeout else r.deadline = now + timeout end
  end
  request_store(K, id, r)
  redis.call('HSET', K.U .. ':requests', id, K.thread)
end

-- request_close forgets a request; its request_closed frame is the caller's.
local function request_close(K, id)
  redis.call('HDEL', K.requests, id)
  redis.call('HDEL', K.U .. ':requests', id)
end

-- The clocks of requests stop while nobody watches.
local function requests_pause(K, now)
  for _, r in ipairs(requests_all(K)) do
    if r.state == 'o' and r.deadline > 0 then
      r.remaining, r.deadline = math.max(r.deadline - now, 1), 0
      request_store(K, r.id, r)
    end
  end
  requests_rearm(K)
end

local function requests_resume(K, now)
  for _, r in ipairs(requests_all(K)) do
    if r.state == 'o' and r.remaining > 0 then
      r.deadline, r.remaining = now + r.remaining, 0
      request_store(K, r.id, r)
    end
  end
  requests_rearm(K)
end
