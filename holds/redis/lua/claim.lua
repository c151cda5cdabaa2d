-- Claims a span for one client, or returns the conflict: see holds.Table.Claim.
--
-- KEYS[1]   specialist:{id}:holds
-- KEYS[2]   client:{owner}:holds
-- KEYS[3]   hold:{type}:{slotStart}:{specialist}, the key for seat 0
-- KEYS[4…]  availability:{specialist}:{date}, the bitmaps of the days of the busy interval
-- ARGV[1]   id of the hold, if there will be a new one; also names this call
-- ARGV[2]   owner
-- ARGV[3]   appointment type
-- ARGV[4]   specialist
-- ARGV[5]   slot start      ARGV[6]   slot end
-- ARGV[7]   busy start      ARGV[8]   busy end
-- ARGV[9]   time to live, milliseconds
-- ARGV[10]  maximum lifetime, milliseconds
-- ARGV[11]  quota, 0 for none
-- ARGV[12]  1 to displace unpinned holds
-- ARGV[13]  1 if a node can report whether an expired pinned hold was booked
-- ARGV[14]  groups of resources in the order to try, a JSON list of lists, or empty: the claim takes one resource of each group
-- ARGV[15]  the ticks to check, without those of the appointments that are moved: for each bitmap in turn, a list of numbers separated by
--           spaces; the lists are separated by commas
-- ARGV[16]  id of the hold that this claim replaces, empty for none
-- ARGV[17]  its owner
-- ARGV[18…] seats to try, in order
--
-- Returns {'new', seat, deadline, maximum, resources}, {'own', hold}, {'held', latest conflicting deadline}, {'taken'}, {'quota'} or
-- {'not owner'}.

local now = clock()
local id, owner, kind, specialist = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local slotStart, slotEnd, busyStart, busyEnd = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])

-- near lists the holds that overlap the span, on any seat. It ends expired holds first, so that events have the order of their effect.
local near = meeting(KEYS[1], slotStart, slotEnd, busyStart, busyEnd, now, ARGV[13])
for _, h in ipairs(near) do h.group = h.appointmentTypeId == kind and h.slotStart == slotStart and h.slotEnd == slotEnd end

local old, why = nil, nil
if ARGV[16] ~= '' then old, why = find(ARGV[16], ARGV[17], now) end
if why == 'not owner' then return {why} end
if old and old.pinnedUntil > 0 then old = nil end

-- erase removes a hold from all its keys.
local function erase(h, text)
  local key = redis.call('GET', 'hold-id:' .. h.id)
  if key then redis.call('DEL', key, 'hold-id:' .. h.id) end
  unindex(h, text)
end
-- replaced publishes the end of the replaced hold, after the event of the new one.
local function replaced()
  if old then publish('release', 'released', now, old, deadline(old)) end
end

for _, h in ipairs(near) do
  if h.group and h.owner == owner then
    local own = find(h.id, owner, now)
    if own then
      own.call = id
      extend(own, tonumber(ARGV[9]), now)
      if old and old.id ~= own.id then
        erase(old, member(old))
        replaced()
      end
      return {'own', value(own)}
    end
  end
end

-- counts reports whether a hold is in the way: the one that this claim replaces is not.
local function counts(h, pinnedOnly) return not (old and h.id == old.id) and (h.pinned or not pinnedOnly) end

-- take returns the first free seat, or nil and the latest deadline of the conflicting holds.
local function take(pinnedOnly)
  local latest = 0
  for i = 18, #ARGV do
    local seat, free = tonumber(ARGV[i]), true
    for _, h in ipairs(near) do
      if counts(h, pinnedOnly) and not (h.group and h.seat ~= seat) then
        free = false
        latest = math.max(latest, h.at)
      end
    end
    if free then return seat end
  end
  return nil, latest
end

local displace = ARGV[12] == '1'
local seat, latest = take(false)
if not seat and displace then seat, latest = take(true) end
if not seat then return {'held', latest} end

local bitmap = 4
for list in string.gmatch(ARGV[15] .. ',', '([^,]*),') do
  for tick in string.gmatch(list, '%d+') do
    if redis.call('GETBIT', KEYS[bitmap], tick) == 1 then return {'taken'} end
  end
  bitmap = bitmap + 1
end

local displaced, spared, known = {}, 0, {}
if old then
  known[old.id] = true
  if old.owner == owner then spared = 1 end
end
local function displaces(h)
  if known[h.id] then return end
  known[h.id] = true
  displaced[#displaced + 1] = h
  if h.owner == owner then spared = spared + 1 end
end
if displace then
  for _, h in ipairs(near) do
    if not (h.group and h.seat ~= seat) then displaces(h) end
  end
end

-- pick returns the first free resource of a group, or nil and the latest deadline of the conflicting
-- holds; and the conflicting holds. Clients never share a resource.
local resources, used = {}, {}
local function pick(group, pinnedOnly)
  local latest = 0
  for _, r in ipairs(group) do
    if not used[r] then
      local free, there = true, meeting('specialist:' .. r .. ':holds', slotStart, slotEnd, busyStart, busyEnd, now, ARGV[13])
      for _, h in ipairs(there) do
        if counts(h, pinnedOnly) then
          free = false
          latest = math.max(latest, h.at)
        end
      end
      if free then return r, latest, there end
    end
  end
  return nil, latest
end
if ARGV[14] ~= '' then
  for _, group in ipairs(cjson.decode(ARGV[14])) do
    local r, last, there = pick(group, false)
    if not r and displace then r, last, there = pick(group, true) end
    if not r then return {'held', last} end
    used[r] = true
    resources[#resources + 1] = r
    for _, h in ipairs(there) do displaces(h) end
  end
end

local quota = tonumber(ARGV[11])
if quota > 0 and redis.call('ZCOUNT', KEYS[2], '(' .. now, '+inf') - spared >= quota then return {'quota'} end

for _, h in ipairs(displaced) do
  erase(h, h.text)
  publish('release', 'displaced', now, h, h.at)
end
if old then erase(old, member(old)) end

local life = math.max(tonumber(ARGV[10]), tonumber(ARGV[9]))
local h = {
  id = id, owner = owner, appointmentTypeId = kind, specialistId = specialist, slotStart = slotStart, slotEnd = slotEnd,
  busyStart = busyStart, busyEnd = busyEnd, seat = seat, lapsesAt = now + tonumber(ARGV[9]), pinnedUntil = 0,
  maxExpiresAt = now + life, life = life, restarts = 0, call = id, key = KEYS[3], resources = table.concat(resources, ' '),
}
if seat > 0 then h.key = string.format('%s:%.0f', KEYS[3], seat) end
save(h)
publish('hold', '', now, h, h.lapsesAt)
replaced()
return {'new', seat, h.lapsesAt, h.maxExpiresAt, h.resources}
