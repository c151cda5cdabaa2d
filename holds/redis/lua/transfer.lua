-- Transfers a hold to another owner: see holds.Table.Transfer.
--
-- KEYS[1]  hold-id:{id}
-- ARGV[1]  id
-- ARGV[2]  owner
-- ARGV[3]  names this call
-- ARGV[4]  the new owner
-- ARGV[5]  time to live    ARGV[6]  maximum lifetime, both in milliseconds
--
-- Returns {'ok', hold}, {'not found'} or {'not owner'}.

local now = clock()
local h, why = find(ARGV[1], ARGV[2], now)
if not h then return {why} end
unindex(h, member(h))
h.owner, h.head, h.call = ARGV[4], nil, ARGV[3]
h.lapsesAt, h.pinnedUntil, h.restarts = now + tonumber(ARGV[5]), 0, 0
h.life = math.max(tonumber(ARGV[6]), tonumber(ARGV[5]))
h.maxExpiresAt = now + h.life
save(h)
publish('heartbeat', '', now, h, h.lapsesAt)
return {'ok', value(h)}
