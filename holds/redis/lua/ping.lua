-- Reports whether Redis accepts writes, and renews a lease: see Options.Lease.
--
-- KEYS[1]  holdfast:health:ping
-- KEYS[2]  holdfast:lease
-- ARGV[1]  the node that wants the lease; empty for none
-- ARGV[2]  how long it lasts, milliseconds
--
-- Returns {1}, or {0, holder, milliseconds left} if another node has the lease.

redis.call('SET', KEYS[1], '1', 'EX', 5)
if ARGV[1] == '' then return {1} end
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= ARGV[1] then return {0, holder, redis.call('PTTL', KEYS[2])} end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return {1}
