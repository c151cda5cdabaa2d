-- holds_attend changes the presence of one specialist: see holds.Presence. what is 'online', 'offline', 'unheard'
-- (offline because of a stale heartbeat), 'deactivate', 'activate', 'beat' or 'capacity'. It returns 1 if it changed
-- anything, else 0; -1 if the specialist is deactivated, -2 if not online.
CREATE OR REPLACE FUNCTION holds_attend(who text, what text, most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    p  holds_presence;
    at bigint;
BEGIN
    IF what IN ('online', 'deactivate') THEN -- create the row of an unknown specialist
        INSERT INTO holds_presence (specialist_id) VALUES (who) ON CONFLICT (specialist_id) DO NOTHING;
    END IF;
    SELECT * INTO p FROM holds_presence WHERE specialist_id = who FOR UPDATE;
    IF NOT FOUND THEN
        RETURN CASE WHEN what = 'beat' THEN -2 ELSE 0 END;
    END IF;
    at := holds_clock();
    CASE what
    WHEN 'online' THEN
        IF p.deactivated THEN RETURN -1; END IF;
        UPDATE holds_presence SET online = true, capacity = most, heartbeat_at = at WHERE specialist_id = who;
        RETURN (NOT p.online)::integer;
    WHEN 'offline' THEN
        UPDATE holds_presence SET online = false WHERE specialist_id = who AND online;
        RETURN (p.online AND NOT p.deactivated)::integer;
    WHEN 'unheard' THEN -- set offline if the heartbeat is at least this many milliseconds old
        IF NOT p.online OR p.deactivated OR p.heartbeat_at > at - most THEN RETURN 0; END IF;
        UPDATE holds_presence SET online = false WHERE specialist_id = who;
        RETURN 1;
    WHEN 'deactivate' THEN
        UPDATE holds_presence SET deactivated = true WHERE specialist_id = who AND NOT deactivated;
        RETURN (NOT p.deactivated)::integer;
    WHEN 'activate' THEN
        UPDATE holds_presence SET deactivated = false, heartbeat_at = CASE WHEN online THEN at ELSE heartbeat_at END
            WHERE specialist_id = who AND deactivated;
        RETURN p.deactivated::integer;
    WHEN 'beat' THEN
        IF p.deactivated THEN RETURN -1; END IF;
        IF NOT p.online THEN RETURN -2; END IF;
        UPDATE holds_presence SET heartbeat_at = at WHERE specialist_id = who;
    ELSE
        UPDATE holds_presence SET capacity = most WHERE specialist_id = who AND online;
    END CASE;
    RETURN 0;
END $$;

-- holds_load adds to the number of sessions in progress, which is never below 0, and returns the new number.
CREATE OR REPLACE FUNCTION holds_load(who text, delta integer) RETURNS integer LANGUAGE sql VOLATILE AS $$
    INSERT INTO holds_presence AS p (specialist_id, load) VALUES (who, GREATEST(0, delta))
        ON CONFLICT (specialist_id) DO UPDATE SET load = GREATEST(0, p.load + delta) RETURNING load $$;

-- holds_loads replaces all loads in one step.
CREATE OR REPLACE FUNCTION holds_loads(ids text[], loads integer[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM holds_presence ORDER BY specialist_id FOR UPDATE; -- concurrent calls lock the rows in the same order
    UPDATE holds_presence SET load = 0 WHERE load <> 0 AND specialist_id <> ALL (ids);
    INSERT INTO holds_presence AS p (specialist_id, load) SELECT u.id, GREATEST(0, u.load) FROM unnest(ids, loads) AS u(id, load) ORDER BY u.id
        ON CONFLICT (specialist_id) DO UPDATE SET load = excluded.load;
END $$;

-- holds_seed adds the presence in the durable mirror: see holds.Presence.Seed. Existing rows take precedence.
CREATE OR REPLACE FUNCTION holds_seed(ids text[], onlines boolean[], deactivateds boolean[], heartbeats bigint[], loads integer[], capacities integer[])
RETURNS void LANGUAGE sql VOLATILE AS $$
    INSERT INTO holds_presence AS p (specialist_id, online, deactivated, heartbeat_at, load, capacity)
        SELECT u.id, u.online, u.deactivated, u.heartbeat, GREATEST(0, u.load), u.capacity
        FROM unnest(ids, onlines, deactivateds, heartbeats, loads, capacities) AS u(id, online, deactivated, heartbeat, load, capacity)
        ORDER BY u.id
        ON CONFLICT (specialist_id) DO UPDATE SET
            heartbeat_at = CASE WHEN p.heartbeat_at = 0 THEN excluded.heartbeat_at ELSE p.heartbeat_at END,
            online       = p.online OR excluded.online,
            deactivated  = p.deactivated OR (excluded.deactivated AND NOT p.online),
            capacity     = CASE WHEN p.online AND NOT p.deactivated THEN p.capacity ELSE excluded.capacity END $$;

-- holds_remember adds the presence that one node remembers of a lost home. The latest heartbeat of all nodes counts.
CREATE OR REPLACE FUNCTION holds_remember(ids text[], onlines boolean[], deactivateds boolean[], heartbeats bigint[], loads integer[], capacities integer[])
RETURNS void LANGUAGE sql VOLATILE AS $$
    INSERT INTO holds_presence AS p (specialist_id, online, deactivated, heartbeat_at, load, capacity)
        SELECT u.id, u.online, u.deactivated, u.heartbeat, GREATEST(0, u.load), u.capacity
        FROM unnest(ids, onlines, deactivateds, heartbeats, loads, capacities) AS u(id, online, deactivated, heartbeat, load, capacity)
        ORDER BY u.id
        ON CONFLICT (specialist_id) DO UPDATE SET
            (online, deactivated, heartbeat_at, load, capacity) =
                (excluded.online, excluded.deactivated, excluded.heartbeat_at, excluded.load, excluded.capacity)
            WHERE excluded.heartbeat_at > p.heartbeat_at $$;

-- holds_present_again restores the presence of one specialist from another storage: see holds.Restorer.RestorePresent.
CREATE OR REPLACE FUNCTION holds_present_again(who text, is_online boolean, is_deactivated boolean, heartbeat bigint, most integer)
RETURNS void LANGUAGE sql VOLATILE AS $$
    INSERT INTO holds_presence AS p (specialist_id, online, deactivated, heartbeat_at, capacity)
        VALUES (who, is_online, is_deactivated, heartbeat, most)
        ON CONFLICT (specialist_id) DO UPDATE SET
            online       = CASE WHEN is_online THEN true WHEN NOT is_deactivated THEN false ELSE p.online END,
            deactivated  = is_deactivated,
            capacity     = most,
            heartbeat_at = GREATEST(p.heartbeat_at, heartbeat) $$;
