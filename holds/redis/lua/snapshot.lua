-- Reads all live state.
--
-- Returns {now, holds, selections with a deadline each, {id, online, deactivated, heartbeat or 0, load, capacity} for each known specialist}.

local now, live, known, everyone = clock(), {}, {}, {}
for _, text in ipairs(redis.call('ZRANGEBYSCORE', 'holds:deadlines', '(' .. now, '+inf')) do
  local h = find(string.match(text, '"id":"([^"]*)"'), nil, now)
  if h then live[#live + 1] = value(h) end
end
for _, set in ipairs({redis.call('SMEMBERS', 'specialists:online'), redis.call('SMEMBERS', 'specialists:deactivated'),
  redis.call('HKEYS', 'specialists:load')}) do
  for _, id in ipairs(set) do
    if not known[id] then
      known[id] = true
      local p = present(id)
      p[2] = redis.call('SISMEMBER', 'specialists:online', id) -- also for deactivated specialists
      everyone[#everyone + 1] = p
    end
  end
end
return {now, live, redis.call('ZRANGEBYSCORE', 'selections:deadlines', '(' .. now, '+inf', 'WITHSCORES'), everyone}
