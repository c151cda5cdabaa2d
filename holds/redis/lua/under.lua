-- Prefix of every script that changes live state: refuses the call unless this Redis is the home of live state under the call's epoch.
--
-- ARGV[last]  the epoch, empty if there is none

local under = table.remove(ARGV)
if under ~= '' and redis.call('GET', 'holdfast:epoch') ~= under then return redis.error_reply('EPOCH live state has moved') end

