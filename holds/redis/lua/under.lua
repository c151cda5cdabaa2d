-- What a change of live state begins with: it is refused unless this Redis is the home of live state under the epoch of the call.
--
-- ARGV[last]  the epoch, empty where none was entered

local under = table.remove(ARGV)
if under ~= '' and redis.call('GET', 'holdfast:epoch') ~= under then return redis.error_reply('EPOCH live state has moved') end

