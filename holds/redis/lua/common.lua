-- Shared functions. This file is prepended to each script; the script's own file lists its KEYS and ARGV.
--
-- Times are Unix milliseconds of Redis's clock. A hold has expired if its deadline is not after now, whether
-- or not its key still exists. Scripts build some key names from data that they read (Redis Cluster is not supported).

local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- head returns the constant fields of a hold, as JSON without its last brace. The numbers come first: see meeting.
local function head(h)
  if not h.head then
    h.head = string.format('{"slotStart":%.0f,"slotEnd":%.0f,"busyStart":%.0f,"busyEnd":%.0f,"seat":%.0f,"appointmentTypeId":"%s",' ..
      '"specialistId":"%s","owner":"%s","id":"%s"', h.slotStart, h.slotEnd, h.busyStart, h.busyEnd, h.seat, h.appointmentTypeId,
      h.specialistId, h.owner, h.id)
    if h.resources and h.resources ~= '' then h.head = h.head .. ',"resources":"' .. h.resources .. '"' end
  end
  return h.head
end

local function deadline(h) return math.max(h.lapsesAt, h.pinnedUntil) end

-- member returns a hold's member in specialist:{id}:holds and holds:deadlines. It contains the pin state, because
-- scripts need it after the hold's key has expired.
local function member(h)
  if h.pinnedUntil > 0 then return head(h) .. ',"pinned":true}' end
  return head(h) .. '}'
end

local function value(h)
  return head(h) .. string.format(',"lapsesAt":%.0f,"pinnedUntil":%.0f,"maxExpiresAt":%.0f,"life":%.0f,"restarts":%.0f,"call":"%s","key":"%s"}',
    h.lapsesAt, h.pinnedUntil, h.maxExpiresAt, h.life, h.restarts, h.call, h.key)
end

-- publish sends a hold event to all nodes. at is the time of the event, expiresAt the hold's expiry.
local function publish(kind, reason, at, h, expiresAt)
  redis.call('PUBLISH', 'holds:events:' .. h.appointmentTypeId .. '{record}', string.format('{"kind":"%s","reason":"%s","at":%.0f,"expiresAt":%.0f,"maxExpiresAt":%.0f,%s}',
    kind, reason, at, expiresAt, h.maxExpiresAt or 0, string.sub(head(h), 2)))
end

-- calendars returns the sets that a hold belongs to: its specialist's and its resources'.
local function calendars(h)
  local keys = {'specialist:' .. h.specialistId .. ':holds'}
  for id in string.gmatch(h.resources or '', '%S+') do keys[#keys + 1] = 'specialist:' .. id .. ':holds' end
  return keys
end

-- save writes a hold to all its keys.
local function save(h)
  local at, text = deadline(h), member(h)
  redis.call('SET', h.key, value(h), 'PXAT', at)
  redis.call('SET', 'hold-id:' .. h.id, h.key, 'PXAT', at)
  for _, key in ipairs(calendars(h)) do redis.call('ZADD', key, at, text) end
  redis.call('ZADD', 'client:' .. h.owner .. ':holds', at, h.id)
  redis.call('ZADD', 'holds:deadlines', at, text)
end

-- unindex removes a hold from the sorted sets. Its member name depends on its pin.
local function unindex(h, text)
  for _, key in ipairs(calendars(h)) do redis.call('ZREM', key, text) end
  redis.call('ZREM', 'client:' .. h.owner .. ':holds', h.id)
  redis.call('ZREM', 'holds:deadlines', text)
end

-- lapse ends an expired hold. Only the database shows whether a pinned hold was booked: if doubt is '1', the hold
-- waits in holds:doubts until a node resolves it. Its time is free immediately in either case.
local function lapse(text, at, now, doubt)
  local h = cjson.decode(text)
  unindex(h, text)
  if h.pinned and doubt == '1' then
    redis.call('ZADD', 'holds:doubts', 0, head(h) .. string.format(',"expiresAt":%.0f}', at))
  else
    publish('release', 'expired', now, h, at)
  end
  return h
end

-- meeting lists the holds of a set that overlap a span, on any seat, and ends the expired ones.
local function meeting(key, slotStart, slotEnd, busyStart, busyEnd, now, doubt)
  local near = {}
  local all = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  for i = 1, #all, 2 do
    local text, at = all[i], tonumber(all[i + 1])
    if at <= now then
      lapse(text, at, now, doubt)
    else
      local s, e, bs, be = string.match(text, '^{"slotStart":(%-?%d+),"slotEnd":(%-?%d+),"busyStart":(%-?%d+),"busyEnd":(%-?%d+)')
      s, e, bs, be = tonumber(s), tonumber(e), tonumber(bs), tonumber(be)
      if (bs < slotEnd and slotStart < be) or (s < busyEnd and busyStart < e) then
        local h = cjson.decode(text)
        h.text, h.at = text, at
        near[#near + 1] = h
      end
    end
  end
  return near
end

-- find returns a live hold of an owner (of any owner if it is empty), or nil and the reason.
local function find(id, owner, now)
  local key = redis.call('GET', 'hold-id:' .. id)
  local text = key and redis.call('GET', key)
  local h = text and cjson.decode(text)
  if not h or h.id ~= id or deadline(h) <= now then return nil, 'not found' end
  if owner and h.owner ~= owner then return nil, 'not owner' end
  return h
end

-- extend sets a hold to expire ttl from now, never after its maximum and never earlier than before.
local function extend(h, ttl, now)
  h.lapsesAt = math.max(h.lapsesAt, math.min(now + ttl, h.maxExpiresAt))
  save(h)
  publish('heartbeat', '', now, h, deadline(h))
end
