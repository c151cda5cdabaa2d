-- Gives up a lease, if it is one's own.
--
-- KEYS[1]  holdfast:lease
-- ARGV[1]  who had it

if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
