-- lineage_of lists whose rows come before those of a thread that is created now, newest
-- first: its parent up to number at ('0': its newest row, '-1': none of it, nor of anything
-- before), then the parent's own list, at most max threads. A line is "<thread> <seq> <epoch>"
-- with number and epoch of the last row that counts, '0 ' when there is none. It is
-- complete once and for all: no pointers are followed later. nil: the parent descends from the thread.
local function lineage_of(K, parent, at, max)
  local T = K.U .. '/' .. parent
  local before = redis.call('HGET', T .. ':state', 'lineage') or ''
  if parent == K.thread then return nil end
  for thread in string.gmatch(before, '([^ \n]+) [^\n]*') do
    if thread == K.thread then return nil end
  end
  local seq, epoch = '0', ''
  if string.sub(at, 1, 1) == '-' then
    seq = '-1'
  else
    local row = redis.call('XREVRANGE', T .. ':messages', at == '0' and '+' or at, '-', 'COUNT', 1)[1]
    if row then seq, epoch = string.match(row[1], '^%d+'), row[2][4] end
  end
  local lines = {parent .. ' ' .. seq .. ' ' .. epoch}
  for line in string.gmatch(before, '[^\n]+') do
    if #lines < max then lines[#lines + 1] = line end
  end
  return table.concat(lines, '\n')
end
