-- Releases a lease if the node holds it.
--
-- KEYS[1]  holdfast:lease
-- ARGV[1]  the holder

if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
