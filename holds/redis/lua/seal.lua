-- Refuses changes under epochs before a given one: see holds.Sealer. Stores whether the data is still complete, for a
-- node that seals it again.
--
-- KEYS[1]  holdfast:epoch    KEYS[2]  holdfast:epoch:server
-- ARGV[1]  the last epoch under which it was open
-- ARGV[2]  the next epoch
--
-- Returns 1 if the data is complete, 0 if this is another server or an emptied one, -1 if the epoch is over.

local known = redis.call('GET', KEYS[1]) or ''
if known == ARGV[2] .. ':whole' then return 1 end
if known == ARGV[2] .. ':lost' then return 0 end
if (tonumber(string.match(known, '^%d+')) or 0) >= tonumber(ARGV[2]) then return -1 end
local whole = known == ARGV[1] and redis.call('GET', KEYS[2]) == server()
redis.call('SET', KEYS[1], ARGV[2] .. (whole and ':whole' or ':lost'))
return whole and 1 or 0
