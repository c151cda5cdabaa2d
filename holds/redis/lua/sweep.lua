-- Ends expired holds and selections, in the order of their deadlines, and takes doubts to resolve. If several nodes sweep
-- concurrently, the first one finds each entry, so each end is published once.
--
-- KEYS[1]  holds:deadlines
-- KEYS[2]  selections:deadlines
-- KEYS[3]  holds:doubts
-- ARGV[1]  maximum number to end
-- ARGV[2]  how long this node has to resolve a doubt, milliseconds
-- ARGV[3]  maximum number of doubts to take
-- ARGV[4]  1 if a node can report whether an expired pinned hold was booked
--
-- Returns {milliseconds to the next deadline or -1, doubt…}.

local now, most = clock(), tonumber(ARGV[1])
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'WITHSCORES', 'LIMIT', 0, most)
for i = 1, #due, 2 do lapse(due[i], tonumber(due[i + 1]), now, ARGV[4]) end
lapseSelections(now, most)

local reply = {-1}
for i = 1, 2 do
  local first = redis.call('ZRANGE', KEYS[i], 0, 0, 'WITHSCORES')
  if first[2] then
    local left = math.max(0, first[2] - now)
    if reply[1] < 0 or left < reply[1] then reply[1] = left end
  end
end
for _, doubt in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, ARGV[3])) do
  redis.call('ZADD', KEYS[3], now + tonumber(ARGV[2]), doubt)
  reply[#reply + 1] = doubt
end
return reply
