-- Extends a hold: see holds.Table.Extend.
--
-- KEYS[1]  hold-id:{id}
-- ARGV[1]  id
-- ARGV[2]  owner
-- ARGV[3]  names this call
-- ARGV[4]  time to live, milliseconds
-- ARGV[5]  1 to restart the maximum lifetime
-- ARGV[6]  maximum number of restarts
--
-- Returns {'ok', hold}, {'not found'}, {'not owner'} or {'restarts'}.

local now = clock()
local h, why = find(ARGV[1], ARGV[2], now)
if not h then return {why} end
if ARGV[5] == '1' then
  if h.restarts >= tonumber(ARGV[6]) then return {'restarts'} end
  h.restarts = h.restarts + 1
  h.maxExpiresAt = now + h.life
end
h.call = ARGV[3]
extend(h, tonumber(ARGV[4]), now)
return {'ok', value(h)}
