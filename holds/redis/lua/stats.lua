-- Counts the live holds, selections and specialists.
--
-- KEYS[1]  holds:deadlines
-- KEYS[2]  selections:deadlines
-- KEYS[3]  specialists:online
-- KEYS[4]  specialists:deactivated
--
-- Returns {holds, selections, online}.

local after = '(' .. clock()
return {redis.call('ZCOUNT', KEYS[1], after, '+inf'), redis.call('ZCOUNT', KEYS[2], after, '+inf'), #redis.call('SDIFF', KEYS[3], KEYS[4])}
