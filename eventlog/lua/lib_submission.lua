-- Reads the header line of a stored submission (submission.go). Ids stay percent-encoded.
local function submission_parse(blob)
  local eol = string.find(blob, '\n', 1, true)
  local f = {}
  for w in string.gmatch(string.sub(blob, 1, eol - 1), '%S+') do f[#f + 1] = w ~= '=' and w or '' end
  return {turn_id = f[2], id = f[3], digest = f[4], policy = f[5], conn = f[6], headless = f[7] == '1', max_ms = tonumber(f[8]),
    stall_ms = tonumber(f[9]), attempts = tonumber(f[10]), message = string.sub(blob, eol + 1, eol + tonumber(f[11]))}
end

-- submission_key: 24 h of memory for a submission, by its client id or else its turn id.
local function submission_key(K, sub)
  return K.T .. ':submit:' .. (sub.id ~= '' and sub.id or sub.turn_id)
end

local function submission_remember(K, sub)
  redis.call('SET', submission_key(K, sub), sub.turn_id .. ' ' .. (sub.digest ~= '' and sub.digest or '='), 'PX', 86400000)
end

-- queue_find returns the place and the blob of a waiting submission, or nil.
local function queue_find(K, turn_id)
  for i, blob in ipairs(redis.call('LRANGE', K.queue, 0, -1)) do
    if submission_parse(blob).turn_id == turn_id then return i, blob end
  end
end
