-- server identifies this run of the server. A promoted replica is a different run, and may lack the last changes.
local function server() return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') end

