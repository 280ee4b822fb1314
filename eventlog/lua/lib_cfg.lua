-- The settings, as Options.pack writes them.
local function cfg_parse(s)
  local f, b, rr, hr, st, rw, g, q, i, p = string.match(s, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%a+)$')
  return {max_frames = tonumber(f), max_bytes = tonumber(b), replay = rr, history = hr, stop = tonumber(st),
    reconnect = tonumber(rw), grace = tonumber(g), queue = tonumber(q), inputs = tonumber(i), policy = p}
end
