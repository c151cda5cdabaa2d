-- Records a client's selection of a slot: see holds.Selections.Select.
--
-- KEYS[1]   client:{owner}:selection
-- KEYS[2]   selection:{date}:{specialist}:{time}
-- ARGV[1]   owner
-- ARGV[2]   appointment type
-- ARGV[3]   specialist
-- ARGV[4]   slot start      ARGV[5]   slot end
-- ARGV[6]   busy start      ARGV[7]   busy end
-- ARGV[8]   time to live, milliseconds
--
-- Returns {selection, deadline}.

local now = clock()
lapseSelections(now, 1000)
local x = {
  owner = ARGV[1], appointmentTypeId = ARGV[2], specialistId = ARGV[3], slotStart = tonumber(ARGV[4]), slotEnd = tonumber(ARGV[5]),
  busyStart = tonumber(ARGV[6]), busyEnd = tonumber(ARGV[7]), key = KEYS[2],
}
local at = now + tonumber(ARGV[8])
local known = redis.call('GET', KEYS[1])
local old = known and cjson.decode(known)
if old and old.appointmentTypeId == x.appointmentTypeId and old.specialistId == x.specialistId and old.slotStart == x.slotStart and
  old.slotEnd == x.slotEnd then
  saveSelection(old, at)
  return {known, at}
end
if old then endSelection(old, known, 'released', now) end
saveSelection(x, at)
publishSelection('select', '', now, x)
return {selectionText(x), at}
