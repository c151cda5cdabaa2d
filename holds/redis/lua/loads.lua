-- Replaces all loads in one step.
--
-- KEYS[1]  specialists:load
-- ARGV[…]  id, load, id, load, …

redis.call('DEL', KEYS[1])
for i = 1, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], math.max(0, tonumber(ARGV[i + 1]))) end
return 0
