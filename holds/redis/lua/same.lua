-- Reports whether this is the server that was opened for an epoch, with its data intact.
--
-- KEYS[1]  holdfast:epoch    KEYS[2]  holdfast:epoch:server
-- ARGV[1]  the epoch

if redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('GET', KEYS[2]) == server() then return 1 end
return 0
