-- Reads one live hold.
--
-- KEYS[1]  hold-id:{id}
-- ARGV[1]  id
--
-- Returns {'ok', hold} or {'not found'}.

local h, why = find(ARGV[1], nil, clock())
if not h then return {why} end
return {'ok', value(h)}
