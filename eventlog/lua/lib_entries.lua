-- What append and rebuild share. ARGV[1..5] are turn_id, attempt, owner, replay.max_frames, replay.max_bytes.

-- fenced_state checks the owner's right to write. It returns the state's fields, or the reply
-- {'fenced', outcome, ordinal}: turn ids are never 'fenced'.
local function fenced_state()
  local st = redis.call('HMGET', KEYS[1], 'turn_id', 'attempt', 'owner', 'status', 'closing', 'appended',
    'last_seq', 'pos', 'byte_base', 'ordinal', 'epoch', 'remote')
  local closing = st[5] and st[5] ~= ''
  if st[1] == ARGV[1] and st[2] == ARGV[2] and st[3] == ARGV[3] and st[4] == 'running' and not closing then return st end
  local why = redis.call('HMGET', KEYS[1], 'deleted', 'outcome')
  local outcome = ''
  if why[1] and why[1] ~= '' then
    outcome = 'deleted'
  elseif st[1] == ARGV[1] and st[2] == ARGV[2] then
    outcome = why[2] or ''
    if st[4] == 'running' and closing then -- '!<outcome>', or the superseding turn's id
      outcome = string.match(st[5], '^!(.+)$') or 'superseded'
    end
  end
  return {'fenced', outcome, st[10] or ''}
end

-- top_seq is the newest number of a stream, 0 when it holds nothing.
local function top_seq(stream)
  local top = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
  return top and tonumber(string.match(top[1], '^%d+')) or 0
end

-- trim_bytes cuts the log to max bytes, keeping the newest frame. It returns the new byte_base: a
-- position not above the first byte of the oldest held frame. Logs of a megabyte and more are cut a
-- little further, so that not every append has to cut.
local function trim_bytes(log, pos, last, max)
  local oldest = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
  local base = tonumber(oldest[2][6]) - #oldest[2][8]
  if pos - base <= max then return base end
  if max >= 1048576 then max = max - math.floor(max / 16) end
  local low, high = tonumber(string.match(oldest[1], '^%d+')), last
  while low < high do -- the first frame behind which no more than max bytes follow, itself included
    local mid = math.floor((low + high) / 2)
    local fields = redis.call('XRANGE', log, mid, '+', 'COUNT', 1)[1][2]
    if pos - tonumber(fields[6]) + #fields[8] <= max then high = mid else low = mid + 1 end
  end
  redis.call('XTRIM', log, 'MINID', low)
  local first = redis.call('XRANGE', log, low, '+', 'COUNT', 1)[1][2]
  return tonumber(first[6]) - #first[8]
end

-- write_entries writes n > 0 frames found in ARGV from index at on, behind number seq. It returns nil,
-- or the reply of a call that wrote nothing. appended is what the attempt has in the log afterwards.
-- Numbers are formatted once, as integers: Redis prints a Lua number as a float, which costs more
-- than the rest of an XADD's arguments together.
local function write_entries(st, seq, n, at, appended)
  local base = string.sub(KEYS[1], 1, -6) -- T: with its colon
  local log, turn, format = base .. 'log', st[10], string.format
  local pos = tonumber(st[8]) or 0
  local final = at + 2 * n - 2
  local messages
  for i = at, final, 2 do
    if ARGV[i] == 'message' then messages = base .. 'messages' break end
  end
  if messages and top_seq(messages) > seq then return {'broken', 'messages'} end
  local keep = #ARGV[4] >= 3 and tonumber(ARGV[4]) >= 200 and '~' or '='
  local first = seq + 1
  local id, pos_text, newest_message
  for i = at, final, 2 do
    local frame = ARGV[i + 1]
    pos, seq = pos + #frame, seq + 1
    id, pos_text = format('%d', seq), format('%d', pos)
    local reply
    if i == final then -- the last one also trims by count
      reply = redis.pcall('XADD', log, 'MAXLEN', keep, ARGV[4], id, 'turn', turn, 'type', ARGV[i], 'pos', pos_text, 'frame', frame)
    else
      reply = redis.pcall('XADD', log, id, 'turn', turn, 'type', ARGV[i], 'pos', pos_text, 'frame', frame)
    end
    if i == at and type(reply) == 'table' and reply.err then
      if string.find(reply.err, 'equal or smaller', 1, true) then return {'broken', 'log'} end
      return reply
    end
    if messages and ARGV[i] == 'message' then
      redis.call('XADD', messages, id, 'turn_id', st[1], 'epoch', st[11], 'frame', frame)
      newest_message = id
    end
  end
  local now = redis.call('TIME')
  redis.call('HSET', KEYS[1], 'last_seq', id, 'pos', pos_text, 'appended', appended,
    'last_append_at', now[1] .. string.sub('00000' .. now[2], -6, -4))
  if newest_message then redis.call('HSET', KEYS[1], 'last_message_seq', newest_message) end
  local max = tonumber(ARGV[5])
  if pos > max and pos - (tonumber(st[9]) or 0) > max then
    redis.call('HSET', KEYS[1], 'byte_base', format('%d', trim_bytes(log, pos, seq, max)))
  end
  if st[12] == '1' then
    local out = {'1 ' .. st[11] .. ' ' .. turn .. ' ' .. st[2] .. ' ' .. format('%d', first) .. ' ' .. st[1] .. ' ' .. n .. '\n'}
    for i = at, final, 2 do
      out[#out + 1] = #ARGV[i] .. ' ' .. #ARGV[i + 1] .. '\n'
      out[#out + 1] = ARGV[i]
      out[#out + 1] = ARGV[i + 1]
    end
    redis.call('PUBLISH', base .. 'live', table.concat(out))
  end
  return nil
end
