-- Ends what has lapsed, in the order of the deadlines, and takes what nobody knows the end of. Of the nodes that sweep at
-- once the first finds it, so each end is published once.
--
-- KEYS[1]  holds:deadlines
-- KEYS[2]  selections:deadlines
-- KEYS[3]  holds:doubts
-- ARGV[1]  how many to end at most
-- ARGV[2]  for how long a doubt is this node's to resolve, milliseconds
-- ARGV[3]  how many doubts to take at most
-- ARGV[4]  1 if somebody can say whether a pinned hold that lapsed was booked
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
