-- Shared functions of the selection and sweep scripts, after common.lua.

local function selectionText(x)
  return string.format('{"slotStart":%.0f,"slotEnd":%.0f,"busyStart":%.0f,"busyEnd":%.0f,"appointmentTypeId":"%s","specialistId":"%s",' ..
    '"owner":"%s","key":"%s"}', x.slotStart, x.slotEnd, x.busyStart, x.busyEnd, x.appointmentTypeId, x.specialistId, x.owner, x.key)
end

local function publishSelection(kind, reason, now, x)
  redis.call('PUBLISH', 'holds:events:' .. x.appointmentTypeId .. '{record}', string.format('{"kind":"%s","reason":"%s","at":%.0f,"slotStart":%.0f,' ..
    '"slotEnd":%.0f,"busyStart":%.0f,"busyEnd":%.0f,"appointmentTypeId":"%s","specialistId":"%s","owner":"%s"}', kind, reason, now,
    x.slotStart, x.slotEnd, x.busyStart, x.busyEnd, x.appointmentTypeId, x.specialistId, x.owner))
end

local function saveSelection(x, at)
  local text = selectionText(x)
  redis.call('SET', 'client:' .. x.owner .. ':selection', text, 'PXAT', at)
  redis.call('ZADD', x.key, at, x.owner)
  redis.call('PEXPIREAT', x.key, at) -- the selection that was saved last also expires last
  redis.call('ZADD', 'specialist:' .. x.specialistId .. ':selections', at, text)
  redis.call('ZADD', 'selections:deadlines', at, text)
end

local function endSelection(x, text, reason, now)
  local own = 'client:' .. x.owner .. ':selection'
  if redis.call('GET', own) == text then redis.call('DEL', own) end
  redis.call('ZREM', x.key, x.owner)
  redis.call('ZREM', 'specialist:' .. x.specialistId .. ':selections', text)
  redis.call('ZREM', 'selections:deadlines', text)
  publishSelection('deselect', reason, now, x)
end

-- lapseSelections ends expired selections, in the order of their deadlines.
local function lapseSelections(now, most)
  for _, text in ipairs(redis.call('ZRANGEBYSCORE', 'selections:deadlines', '-inf', now, 'LIMIT', 0, most)) do
    endSelection(cjson.decode(text), text, 'expired', now)
  end
end
