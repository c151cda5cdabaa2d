-- Opens this Redis for an epoch, if this node filled it.
--
-- KEYS[1]  holdfast:epoch    KEYS[2]  holdfast:epoch:server
-- ARGV[1]  the epoch    ARGV[2]  the node that filled it
--
-- Returns 1 if it is open, 0 if not.

local known = redis.call('GET', KEYS[1])
if known == ARGV[1] then return 1 end
if known ~= ARGV[1] .. ':' .. ARGV[2] then return 0 end
redis.call('SET', KEYS[2], server())
redis.call('SET', KEYS[1], ARGV[1])
return 1
