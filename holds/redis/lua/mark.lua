-- Sets or clears ticks of one day: see holds.Busy.
--
-- KEYS[1]  availability:{specialist}:{date}
-- ARGV[1]  1 to set, 0 to clear
-- ARGV[2]  first tick
-- ARGV[3]  the tick after the last
-- ARGV[4]  when nobody asks about that day any more, Unix seconds

for tick = tonumber(ARGV[2]), tonumber(ARGV[3]) - 1 do redis.call('SETBIT', KEYS[1], tick, ARGV[1]) end
if ARGV[1] == '0' and redis.call('BITCOUNT', KEYS[1]) == 0 then
  redis.call('DEL', KEYS[1])
else
  redis.call('EXPIREAT', KEYS[1], ARGV[4])
end
return 0
