-- Counts what is live.
--
-- KEYS[1]  holds:deadlines
-- KEYS[2]  selections:deadlines
-- KEYS[3]  specialists:online
--
-- Returns {holds, selections, online}.

local after = '(' .. clock()
return {redis.call('ZCOUNT', KEYS[1], after, '+inf'), redis.call('ZCOUNT', KEYS[2], after, '+inf'), redis.call('SCARD', KEYS[3])}
