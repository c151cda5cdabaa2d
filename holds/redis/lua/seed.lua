-- Adds the presence from the durable copy: see holds.Presence.Seed. Existing entries take precedence.
--
-- KEYS[1]  specialists:online
-- KEYS[2]  specialists:deactivated
-- KEYS[3]  specialists:load
-- ARGV[…]  id, online, deactivated, heartbeat or 0, load, capacity, id, …

for i = 1, #ARGV, 6 do
  local id, capacity, heartbeat = ARGV[i], 'specialist:capacity:' .. ARGV[i], 'specialist:heartbeat:' .. ARGV[i]
  local known = redis.call('EXISTS', capacity, heartbeat) > 0 or redis.call('HEXISTS', KEYS[3], id) == 1 or isDeactivated(id)
  if not known then redis.call('HSET', KEYS[3], id, math.max(0, tonumber(ARGV[i + 4]))) end
  if ARGV[i + 3] ~= '0' then redis.call('SET', heartbeat, ARGV[i + 3], 'NX') end
  if not isOnline(id) or isDeactivated(id) then
    if ARGV[i + 2] == '1' then redis.call('SADD', KEYS[2], id) end
    if ARGV[i + 1] == '1' then redis.call('SADD', KEYS[1], id) end
    redis.call('SET', capacity, ARGV[i + 5])
  end
end
return 0
