-- Answers whether Redis can be written to, and keeps a lease: see Options.Lease.
--
-- KEYS[1]  holdfast:health:ping
-- KEYS[2]  holdfast:lease
-- ARGV[1]  who wants the lease, empty for nobody
-- ARGV[2]  how long it lasts, milliseconds
--
-- Returns {1}, or {0, who has it, milliseconds left} if that is somebody else.

redis.call('SET', KEYS[1], '1', 'EX', 5)
if ARGV[1] == '' then return {1} end
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= ARGV[1] then return {0, holder, redis.call('PTTL', KEYS[2])} end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return {1}
