-- Lists the live selections of some specialists, unordered.
--
-- KEYS[…]  specialist:{id}:selections for each, or selections:deadlines for all
--
-- Returns {selection, deadline, …}.

local now, list = clock(), {}
for _, key in ipairs(KEYS) do
  for _, x in ipairs(redis.call('ZRANGEBYSCORE', key, '(' .. now, '+inf', 'WITHSCORES')) do list[#list + 1] = x end
end
return list
