-- The identity of the Redis master; '' where the server does not tell.
local function replid()
  local info = redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' then return '' end
  return string.match(info, 'master_replid:(%w+)') or ''
end
