-- Publishes the outcome of an expired pinned hold, unless another node has done so.
--
-- KEYS[1]  holds:doubts
-- ARGV[1]  the doubt
-- ARGV[2]  kind of the event: confirm or release
-- ARGV[3]  reason
--
-- Returns 1 if this node published it.

if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
local h = cjson.decode(ARGV[1])
publish(ARGV[2], ARGV[3], clock(), h, h.expiresAt)
return 1
