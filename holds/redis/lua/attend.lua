-- Changes the presence of one specialist: see holds.Presence.
--
-- KEYS[1]  specialists:online
-- KEYS[2]  specialists:deactivated
-- KEYS[3]  specialist:capacity:{id}
-- KEYS[4]  specialist:heartbeat:{id}
-- ARGV[1]  id
-- ARGV[2]  'online', 'offline', 'unheard' (offline because of a stale heartbeat), 'deactivate', 'activate', 'beat' or 'capacity'
-- ARGV[3]  capacity, for 'online' and 'capacity'; how old the heartbeat must be, in milliseconds, for 'unheard'
--
-- Returns 1 if it changed anything, else 0; -1 if the specialist is deactivated, -2 if not online.

local id, what = ARGV[1], ARGV[2]
if what == 'online' then
  if isDeactivated(id) then return -1 end
  redis.call('SET', KEYS[3], ARGV[3])
  redis.call('SET', KEYS[4], clock())
  return redis.call('SADD', KEYS[1], id)
elseif what == 'offline' then
  local removed = redis.call('SREM', KEYS[1], id)
  if isDeactivated(id) then return 0 end
  return removed
elseif what == 'unheard' then
  if isDeactivated(id) or not isOnline(id) then return 0 end
  if clock() - tonumber(redis.call('GET', KEYS[4]) or 0) < tonumber(ARGV[3]) then return 0 end
  return redis.call('SREM', KEYS[1], id)
elseif what == 'deactivate' then
  return redis.call('SADD', KEYS[2], id)
elseif what == 'activate' then
  local removed = redis.call('SREM', KEYS[2], id)
  if removed == 1 and isOnline(id) then redis.call('SET', KEYS[4], clock()) end
  return removed
elseif what == 'beat' then
  if isDeactivated(id) then return -1 end
  if not isOnline(id) then return -2 end
  redis.call('SET', KEYS[4], clock())
elseif isOnline(id) then
  redis.call('SET', KEYS[3], ARGV[3])
end
return 0
