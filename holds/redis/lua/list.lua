-- Lists the live holds of some specialists, in no order.
--
-- KEYS[…]  specialist:{id}:holds of each, or holds:deadlines for all
--
-- Returns the holds.

local now, list = clock(), {}
for _, key in ipairs(KEYS) do
  for _, text in ipairs(redis.call('ZRANGEBYSCORE', key, '(' .. now, '+inf')) do
    local h = find(string.match(text, '"id":"([^"]*)"'), nil, now)
    if h then list[#list + 1] = value(h) end
  end
end
return list
