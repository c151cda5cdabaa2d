-- Restores the presence of one specialist from another storage: see holds.Restorer.RestorePresent.
--
-- KEYS[1]  specialists:online
-- KEYS[2]  specialists:deactivated
-- KEYS[3]  specialist:capacity:{id}
-- KEYS[4]  specialist:heartbeat:{id}
-- ARGV[1]  id
-- ARGV[2]  1 if online
-- ARGV[3]  1 if deactivated
-- ARGV[4]  heartbeat, Unix milliseconds, 0 for none
-- ARGV[5]  capacity

if ARGV[2] == '1' then
  redis.call('SADD', KEYS[1], ARGV[1])
elseif ARGV[3] == '0' then
  redis.call('SREM', KEYS[1], ARGV[1])
end
redis.call(ARGV[3] == '1' and 'SADD' or 'SREM', KEYS[2], ARGV[1])
redis.call('SET', KEYS[3], ARGV[5])
if tonumber(ARGV[4]) > tonumber(redis.call('GET', KEYS[4]) or 0) then redis.call('SET', KEYS[4], ARGV[4]) end
return 0
