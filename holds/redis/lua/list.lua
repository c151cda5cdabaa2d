-- Lists the live holds of some specialists and resources, each once and unordered.
--
-- KEYS[…]  specialist:{id}:holds for each, or holds:deadlines for all
--
-- Returns the holds.

local now, list, known = clock(), {}, {}
for _, key in ipairs(KEYS) do
  for _, text in ipairs(redis.call('ZRANGEBYSCORE', key, '(' .. now, '+inf')) do
    local h = find(string.match(text, '"id":"([^"]*)"'), nil, now)
    if h and not known[h.id] then
      known[h.id] = true
      list[#list + 1] = value(h)
    end
  end
end
return list
