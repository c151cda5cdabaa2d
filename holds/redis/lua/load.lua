-- Adds to the number of sessions in progress, which is never below 0.
--
-- KEYS[1]  specialists:load
-- ARGV[1]  id
-- ARGV[2]  delta
--
-- Returns the new number.

local load = math.max(0, tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0) + tonumber(ARGV[2]))
redis.call('HSET', KEYS[1], ARGV[1], load)
return load
