-- use: keys state entries replid
-- Writing the log on behalf of others than append: begin, finish, reap.

-- numbering finds the number behind which everything continues: the higher of
-- state and both streams' tops. A lost state means a new epoch. If the
-- Redis master changed since the owner last confirmed and no owner can confirm,
-- numbers may have been lost: new epoch, and a jump that clients without
-- epochs notice too. Writes nothing.
local function numbering(K, st, fresh_epoch, by_owner)
  local top = redis.call('XREVRANGE', K.log, '+', '-', 'COUNT', 1)[1]
  if top then
    st.last_seq = math.max(st.last_seq, tonumber(string.match(top[1], '^%d+')))
    st.ordinal = math.max(st.ordinal, tonumber(top[2][2]) or 0)
    st.pos = math.max(st.pos, tonumber(top[2][6]) or 0)
  end
  st.last_seq = math.max(st.last_seq, top_seq(K.messages))
  if by_owner then return end
  local master = replid()
  if st.epoch == '' or st.deleted ~= '' then
    st.epoch = fresh_epoch
  elseif master ~= '' and st.replid ~= '' and master ~= st.replid then
    st.epoch, st.last_seq, st.jumped = fresh_epoch, st.last_seq + 65536, true
  end
  if master ~= '' then st.replid = master end
end

-- log_add writes one frame of the turn in st behind st.last_seq. After a jump
-- the log begins anew: frames of the epoch before would leave a hole in it.
local function log_add(K, st, out, type, frame)
  if st.jumped and not st.dropped then
    redis.call('DEL', K.log)
    st.byte_base, st.dropped = st.pos, true
  end
  st.last_seq, st.pos = st.last_seq + 1, st.pos + #frame
  local seq, ordinal = num(st.last_seq), num(st.ordinal)
  redis.call('XADD', K.log, seq, 'turn', ordinal, 'type', type, 'pos', num(st.pos), 'frame', frame)
  if type == 'message' then
    redis.call('XADD', K.messages, seq, 'turn_id', st.turn_id, 'epoch', st.epoch, 'frame', frame)
    st.last_message_seq = st.last_seq
  end
  out[#out + 1] = seq
  out[#out + 1] = ordinal
  out[#out + 1] = type
  out[#out + 1] = frame
end

local function log_trim(K, st, cfg)
  redis.call('XTRIM', K.log, 'MAXLEN', cfg.max_frames >= 200 and '~' or '=', num(cfg.max_frames))
  if st.pos - st.byte_base > cfg.max_bytes then
    st.byte_base = trim_bytes(K.log, st.pos, st.last_seq, cfg.max_bytes)
  end
end

-- live_publish sends frames (seq, ordinal, type, frame, ...) of st's turn to the
-- nodes that view the thread, unless only the writer itself does.
local function live_publish(K, st, writer, frames)
  local others = false
  for _, node in ipairs(redis.call('HKEYS', K.viewers)) do
    if node ~= writer then others = true end
  end
  if not others or #frames == 0 then return end
  local out = {'1 ' .. st.epoch .. ' ' .. num(st.ordinal) .. ' ' .. num(st.attempt) .. ' ' .. frames[1] .. ' ' .. st.turn_id .. ' ' .. num(#frames / 4) .. '\n'}
  for i = 1, #frames, 4 do
    out[#out + 1] = #frames[i + 2] .. ' ' .. #frames[i + 3] .. '\n' .. frames[i + 2]
    out[#out + 1] = frames[i + 3]
  end
  redis.call('PUBLISH', K.live, table.concat(out))
end
