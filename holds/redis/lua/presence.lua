-- What the scripts about presence share, after common.lua. Who is unknown has none of the keys.
--
-- specialists:online, specialists:deactivated   sets of ids
-- specialists:load                              hash from id to sessions in progress
-- specialist:capacity:{id}                      most sessions at a time
-- specialist:heartbeat:{id}                     the last one, Unix milliseconds

local function isOnline(id) return redis.call('SISMEMBER', 'specialists:online', id) == 1 end

local function isDeactivated(id) return redis.call('SISMEMBER', 'specialists:deactivated', id) == 1 end

-- present is {id, online, deactivated, heartbeat or 0, load, capacity}.
local function present(id)
  return {
    id, redis.call('SISMEMBER', 'specialists:online', id), redis.call('SISMEMBER', 'specialists:deactivated', id),
    tonumber(redis.call('GET', 'specialist:heartbeat:' .. id) or 0), tonumber(redis.call('HGET', 'specialists:load', id) or 0),
    tonumber(redis.call('GET', 'specialist:capacity:' .. id) or 0),
  }
end
