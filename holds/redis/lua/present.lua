-- Reads the presence of specialists, unordered.
--
-- KEYS[1]  specialists:online
-- ARGV[1]  'one' for the id in ARGV[2], 'everyone' for all online, or 'available'
-- ARGV[2]  for 'available': milliseconds after which a heartbeat is stale, 0 for never
--
-- Returns {id, online, deactivated, heartbeat or 0, load, capacity} for each.

if ARGV[1] == 'one' then return {present(ARGV[2])} end
local oldest = -1
if ARGV[1] == 'available' and tonumber(ARGV[2]) > 0 then oldest = clock() - tonumber(ARGV[2]) end
local list = {}
for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  local p = present(id)
  if p[2] == 1 and (ARGV[1] == 'everyone' or (p[5] < p[6] and p[4] > oldest)) then list[#list + 1] = p end
end
return list
