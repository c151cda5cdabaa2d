-- Ends a client's selection, or renews it: see holds.Selections.Deselect and Renew.
--
-- KEYS[1]  client:{owner}:selection
-- ARGV[1]  'deselect' or 'renew'
-- ARGV[2]  time to live, milliseconds
--
-- Returns 1 if the client had a selection.

local now = clock()
lapseSelections(now, 1000)
local known = redis.call('GET', KEYS[1])
if not known then return 0 end
if ARGV[1] == 'renew' then
  saveSelection(cjson.decode(known), now + tonumber(ARGV[2]))
else
  endSelection(cjson.decode(known), known, 'released', now)
end
return 1
