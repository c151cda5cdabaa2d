-- Reports whether a node has the lease.
--
-- KEYS[1]  holdfast:lease
-- ARGV[1]  the node

if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end
return 0
