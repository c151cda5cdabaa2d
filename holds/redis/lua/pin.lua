-- Pins a hold while its booking is being written, or unpins it: see holds.Table.Pin and Unpin.
--
-- KEYS[1]  hold-id:{id}
-- ARGV[1]  id
-- ARGV[2]  owner
-- ARGV[3]  names this call
-- ARGV[4]  'pin' or 'unpin'
-- ARGV[5]  minimum duration of the pin, or the grace after it, milliseconds
--
-- Returns {'ok', hold}, {'not found'} or {'not owner'}.

local now = clock()
local h, why = find(ARGV[1], ARGV[2], now)
if not h then return {why} end
local before = member(h)
if ARGV[4] == 'pin' then
  h.pinnedUntil = math.max(h.pinnedUntil, now + tonumber(ARGV[5]))
else
  h.pinnedUntil = 0
  if h.lapsesAt <= now then h.lapsesAt = now + tonumber(ARGV[5]) end
end
h.call = ARGV[3]
if member(h) ~= before then unindex(h, before) end
save(h)
return {'ok', value(h)}
