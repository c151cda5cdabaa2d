-- server names this run of the server. A replica that was promoted is another one, and may lack the last changes.
local function server() return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') end

