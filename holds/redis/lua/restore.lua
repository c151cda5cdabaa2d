-- Restores a hold from another storage: see holds.Restorer.
--
-- KEYS[1]   specialist:{id}:holds
-- KEYS[2]   hold-id:{id}
-- KEYS[3]   hold:{type}:{slotStart}:{specialist}, with its seat
-- ARGV[1]   id
-- ARGV[2]   owner
-- ARGV[3]   appointment type
-- ARGV[4]   specialist
-- ARGV[5]   slot start      ARGV[6]   slot end
-- ARGV[7]   busy start      ARGV[8]   busy end
-- ARGV[9]   seat
-- ARGV[10]  milliseconds until it expires without a pin
-- ARGV[11]  milliseconds until its pin ends, 0 without a pin
-- ARGV[12]  milliseconds until its maximum
-- ARGV[13]  maximum lifetime of its claim, milliseconds
-- ARGV[14]  restarts
-- ARGV[15]  names this call
-- ARGV[16]  1 if a node can report whether an expired pinned hold was booked
-- ARGV[17]  its resources, separated by spaces
--
-- Returns {'ok', hold} or {'held', latest conflicting deadline}.

local now = clock()
local h = {
  id = ARGV[1], owner = ARGV[2], appointmentTypeId = ARGV[3], specialistId = ARGV[4], slotStart = tonumber(ARGV[5]),
  slotEnd = tonumber(ARGV[6]), busyStart = tonumber(ARGV[7]), busyEnd = tonumber(ARGV[8]), seat = tonumber(ARGV[9]),
  lapsesAt = now + tonumber(ARGV[10]), pinnedUntil = 0, maxExpiresAt = now + tonumber(ARGV[12]), life = tonumber(ARGV[13]),
  restarts = tonumber(ARGV[14]), call = ARGV[15], key = KEYS[3], resources = ARGV[17],
}
if ARGV[11] ~= '0' then h.pinnedUntil = now + tonumber(ARGV[11]) end

local old = find(h.id, nil, now)
if old and old.owner == h.owner then
  unindex(old, member(old))
  save(h)
  publish('heartbeat', '', now, h, deadline(h))
  return {'ok', value(h)}
end

local latest, own = 0, {}
local all = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for i = 1, #all, 2 do
  local text, at = all[i], tonumber(all[i + 1])
  local o = cjson.decode(text)
  if at <= now then
    lapse(text, at, now, ARGV[16])
  elseif (o.busyStart < h.slotEnd and h.slotStart < o.busyEnd) or (o.slotStart < h.busyEnd and h.busyStart < o.slotEnd) then
    local group = o.appointmentTypeId == h.appointmentTypeId and o.slotStart == h.slotStart and o.slotEnd == h.slotEnd
    if group and o.owner == h.owner then
      o.text, o.at = text, at
      own[#own + 1] = o
    elseif not (group and o.seat ~= h.seat) then
      latest = math.max(latest, at)
    end
  end
end
for r in string.gmatch(ARGV[17], '%S+') do
  for _, o in ipairs(meeting('specialist:' .. r .. ':holds', h.slotStart, h.slotEnd, h.busyStart, h.busyEnd, now, ARGV[16])) do
    local mine = false
    for _, x in ipairs(own) do mine = mine or x.id == o.id end
    if not mine then latest = math.max(latest, o.at) end
  end
end
if latest > 0 then return {'held', latest} end
for _, o in ipairs(own) do
  local key = redis.call('GET', 'hold-id:' .. o.id)
  if key then redis.call('DEL', key, 'hold-id:' .. o.id) end
  unindex(o, o.text)
  publish('release', 'released', now, o, o.at)
end
save(h)
publish('hold', '', now, h, deadline(h))
return {'ok', value(h)}
