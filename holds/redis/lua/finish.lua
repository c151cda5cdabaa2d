-- Ends a hold for its owner: see holds.Table.Confirm and Release.
--
-- KEYS[1]  hold-id:{id}
-- ARGV[1]  id
-- ARGV[2]  owner
-- ARGV[3]  names this call
-- ARGV[4]  kind of the event: confirm or release
-- ARGV[5]  reason
-- ARGV[6]  how long to remember this call, for repeats, milliseconds
--
-- Returns {'ok'}, {'not found'} or {'not owner'}.

local now = clock()
local h, why = find(ARGV[1], ARGV[2], now)
if not h then return {why} end
unindex(h, member(h))
redis.call('DEL', h.key)
redis.call('SET', KEYS[1], 'ended by ' .. ARGV[3], 'PX', ARGV[6]) -- for a caller that lost the answer and repeats the call
publish(ARGV[4], ARGV[5], now, h, deadline(h))
return {'ok'}
