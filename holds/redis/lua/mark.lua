-- Applies changes to the booked time: see holds.Busy. A bitmap has one bit per tick of a UTC day. After the 288 bits, from byte 36
-- on, it contains the number of the last applied change, in 20 digits.
--
-- KEYS      availability:{specialist}:{date}, one for each day of each change, in the order of the changes
-- ARGV      six for each key:
--           number of the change; 0 to clear ticks unconditionally, -1 to delete the bitmap
--           first tick to clear, and the tick after the last
--           first tick to set, and the tick after the last
--           expiry of the bitmap in Unix seconds

for i, key in ipairs(KEYS) do
  local at = 6 * (i - 1)
  local number = tonumber(ARGV[at + 1])
  if number < 0 then
    redis.call('DEL', key)
  else
    local last = tonumber(redis.call('GETRANGE', key, 36, 55)) or 0
    if number == 0 or number >= last then
      for tick = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]) - 1 do redis.call('SETBIT', key, tick, 0) end
      for tick = tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5]) - 1 do redis.call('SETBIT', key, tick, 1) end
      if number > 0 then redis.call('SETRANGE', key, 36, string.format('%020.0f', number)) end
      redis.call('EXPIREAT', key, ARGV[at + 6])
    end
  end
end
return 0
