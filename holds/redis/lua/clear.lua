-- Prepares this Redis for a new epoch: closes it and deletes earlier live state. Publishes no events.
--
-- KEYS[1]  holdfast:epoch
-- ARGV[1]  the epoch    ARGV[2]  the node that fills it; a node that fills it later takes over
-- ARGV[3]  maximum number of holds and selections to remove
--
-- Returns 1 if nothing is left, 0 if more is left, -1 if the epoch is already open or over.

local known, mine = redis.call('GET', KEYS[1]) or '', ARGV[1] .. ':' .. ARGV[2]
if known ~= mine then
  local at = tonumber(string.match(known, '^%d+')) or 0
  if known == ARGV[1] or at > tonumber(ARGV[1]) then return -1 end
  redis.call('SET', KEYS[1], mine)
end
local most = tonumber(ARGV[3])
for _, text in ipairs(redis.call('ZRANGE', 'holds:deadlines', 0, most - 1)) do
  local h = cjson.decode(text)
  local key = redis.call('GET', 'hold-id:' .. h.id)
  if key then redis.call('DEL', key, 'hold-id:' .. h.id) end
  unindex(h, text)
end
for _, text in ipairs(redis.call('ZRANGE', 'selections:deadlines', 0, most - 1)) do
  local x = cjson.decode(text)
  redis.call('DEL', 'client:' .. x.owner .. ':selection', x.key, 'specialist:' .. x.specialistId .. ':selections')
  redis.call('ZREM', 'selections:deadlines', text)
end
for _, set in ipairs({redis.call('SMEMBERS', 'specialists:online'), redis.call('SMEMBERS', 'specialists:deactivated'),
  redis.call('HKEYS', 'specialists:load')}) do
  for _, id in ipairs(set) do redis.call('DEL', 'specialist:capacity:' .. id, 'specialist:heartbeat:' .. id) end
end
redis.call('DEL', 'specialists:online', 'specialists:deactivated', 'specialists:load', 'holds:doubts')
return redis.call('EXISTS', 'holds:deadlines', 'selections:deadlines') == 0 and 1 or 0
