-- What the scripts about presence share, after common.lua. Who is unknown has none of the keys.
--
-- specialists:online, specialists:deactivated   sets of ids; who can be reached is in the first and not in the second
-- specialists:load                              hash from id to sessions in progress
-- specialist:capacity:{id}                      most sessions at a time
-- specialist:heartbeat:{id}                     the last one, Unix milliseconds

local function isOnline(id) return redis.call('SISMEMBER', 'specialists:online', id) == 1 end

local function isDeactivated(id) return redis.call('SISMEMBER', 'specialists:deactivated', id) == 1 end

-- present is {id, can be reached, deactivated, heartbeat or 0, load, capacity}.
local function present(id)
  local deactivated = redis.call('SISMEMBER', 'specialists:deactivated', id)
  local online = redis.call('SISMEMBER', 'specialists:online', id)
  if deactivated == 1 then online = 0 end
  return {
    id, online, deactivated,
    tonumber(redis.call('GET', 'specialist:heartbeat:' .. id) or 0), tonumber(redis.call('HGET', 'specialists:load', id) or 0),
    tonumber(redis.call('GET', 'specialist:capacity:' .. id) or 0),
  }
end
