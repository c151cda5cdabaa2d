-- Shared functions of the presence scripts, after common.lua. An unknown specialist has none of the keys.
--
-- specialists:online, specialists:deactivated   sets of ids; reachable specialists are in the first and not in the second
-- specialists:load                              hash from id to sessions in progress
-- specialist:capacity:{id}                      maximum number of parallel sessions
-- specialist:heartbeat:{id}                     the last heartbeat, Unix milliseconds

local function isOnline(id) return redis.call('SISMEMBER', 'specialists:online', id) == 1 end

local function isDeactivated(id) return redis.call('SISMEMBER', 'specialists:deactivated', id) == 1 end

-- present returns {id, reachable, deactivated, heartbeat or 0, load, capacity}.
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
