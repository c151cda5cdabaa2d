-- holds_booked reports whether a confirmed appointment conflicts with a span and a seat, under the predicate of the
-- guarantee. It does not count the appointments in moving. It returns false until the store has created its tables. It
-- is VOLATILE, so that it sees every appointment that was committed before the call. A booking ends its hold after its
-- commit, so a claim finds either the hold or the appointment.
CREATE OR REPLACE FUNCTION holds_booked(kind text, whom text, s bigint, e bigint, bs bigint, be bigint, chosen integer, moving text[])
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    reach_before bigint;
    reach_after  bigint;
BEGIN
    IF to_regclass('appointments') IS NULL OR to_regclass('specialists') IS NULL THEN
        RETURN false;
    END IF;
    SELECT reach_before_ms, reach_after_ms INTO reach_before, reach_after FROM specialists WHERE id = whom;
    RETURN EXISTS (SELECT 1 FROM appointments AS a
        WHERE a.specialist_id = whom AND a.status = 'confirmed' AND NOT a.overbook AND a.id <> ALL (moving)
        AND a.slot_start > bs - reach_after AND a.slot_start < be + reach_before
        AND ((a.busy_start < e AND s < a.busy_end) OR (a.slot_start < be AND bs < a.slot_end))
        AND NOT (a.appointment_type_id = kind AND a.slot_start = s AND a.slot_end = e AND a.seat <> chosen));
END $$;

-- holds_claim claims a span for one client, or returns the conflict: see holds.Table.Claim.
--
-- made      id of the hold, if there will be a new one; also names this call
-- own       owner
-- kind, whom  appointment type and specialist
-- s, e, bs, be  slot and busy interval
-- ttl, longest  time to live and maximum lifetime, milliseconds
-- quota     0 for none
-- displace  true to displace unpinned holds
-- doubt     whether a node can report if an expired pinned hold was booked
-- seats     seats to try, in order
-- needs     groups of resources, of which the claim takes one each, in the order to try: a JSON list of lists
-- moving    ids of the appointments that the claim moves; their own time does not conflict with it
-- replaced, replaced_owner  the hold that the claim replaces, and its owner; empty for none
--
-- word is 'ok' with the hold, 'held' with the latest conflicting deadline, 'taken', 'quota' or 'not owner'.
CREATE OR REPLACE FUNCTION holds_claim(made text, own text, kind text, whom text, s bigint, e bigint, bs bigint, be bigint, ttl bigint,
    longest bigint, quota integer, displace boolean, doubt boolean, seats integer[], needs json, moving text[], replaced text, replaced_owner text,
    OUT word text, OUT until bigint, OUT hold json)
LANGUAGE plpgsql AS $$
DECLARE
    at     bigint;
    h      holds_live;
    before holds_live;
    skip   text := '';
    chosen integer;
    spared integer := 0;
    wanted text[] := ARRAY(SELECT r FROM json_array_elements(needs) AS g, json_array_elements_text(g) AS r);
    taken  text[] := '{}';
    pick   text;
    grp    json;
    gone   text[] := '{}';
    free   integer[] := seats;
BEGIN
    until := 0;
    PERFORM holds_lock(1, own);
    PERFORM holds_lock_all(2, wanted || whom);
    at := holds_clock();
    -- End expired holds first, so that events have the order of their effect.
    FOR h IN
        WITH lapsed AS (DELETE FROM holds_live WHERE (specialist_id = whom OR resources <> '{}' AND resources && wanted) AND deadline <= at RETURNING *)
        SELECT * FROM lapsed ORDER BY deadline
    LOOP
        PERFORM holds_lapse(h, at, doubt);
    END LOOP;
    IF displace OR replaced <> '' THEN -- lock these holds, so that none is pinned or ended while this call ends it
        PERFORM 1 FROM holds_live o WHERE o.id = replaced OR displace AND (o.specialist_id = whom OR o.resources <> '{}' AND o.resources && wanted)
            AND o.busy_start < be AND bs < o.busy_end ORDER BY id FOR UPDATE;
    END IF;
    IF replaced <> '' THEN
        SELECT * INTO before FROM holds_live o WHERE o.id = replaced AND o.deadline > at;
        IF FOUND AND before.owner <> replaced_owner THEN
            word := 'not owner';
            RETURN;
        END IF;
        IF FOUND AND before.pinned_until = 0 THEN
            skip := before.id;
        END IF;
    END IF;
    UPDATE holds_live SET lapses_at = GREATEST(lapses_at, LEAST(at + ttl, max_expires_at)), call = made
        WHERE specialist_id = whom AND appointment_type_id = kind AND slot_start = s AND slot_end = e AND owner = own AND deadline > at
        RETURNING * INTO h;
    IF FOUND THEN
        PERFORM holds_tell('heartbeat', '', at, h);
        IF skip <> '' AND skip <> h.id THEN
            DELETE FROM holds_live WHERE id = skip;
            PERFORM holds_tell('release', 'released', at, before);
        END IF;
        word := 'ok'; hold := holds_json(h);
        RETURN;
    END IF;
    LOOP
        -- Prefer a seat without a hold to a seat whose hold this claim would displace.
        SELECT u.seat INTO chosen FROM unnest(seats) WITH ORDINALITY AS u(seat, place)
            WHERE NOT EXISTS (SELECT 1 FROM holds_live o
                WHERE o.specialist_id = whom AND o.deadline > at AND o.id <> skip
                AND ((o.busy_start < e AND s < o.busy_end) OR (o.slot_start < be AND bs < o.slot_end))
                AND NOT (o.appointment_type_id = kind AND o.slot_start = s AND o.slot_end = e AND o.seat <> u.seat))
            ORDER BY u.place LIMIT 1;
        EXIT WHEN chosen IS NOT NULL;
        IF displace THEN
            SELECT u.seat INTO chosen FROM unnest(seats) WITH ORDINALITY AS u(seat, place)
                WHERE NOT EXISTS (SELECT 1 FROM holds_live o
                    WHERE o.specialist_id = whom AND o.deadline > at AND o.pinned_until > 0
                    AND ((o.busy_start < e AND s < o.busy_end) OR (o.slot_start < be AND bs < o.slot_end))
                    AND NOT (o.appointment_type_id = kind AND o.slot_start = s AND o.slot_end = e AND o.seat <> u.seat))
                ORDER BY u.place LIMIT 1;
            EXIT WHEN chosen IS NOT NULL;
        END IF;
        SELECT max(o.deadline) INTO until FROM holds_live o
            WHERE o.specialist_id = whom AND o.deadline > at AND o.id <> skip AND (o.pinned_until > 0 OR NOT displace)
            AND ((o.busy_start < e AND s < o.busy_end) OR (o.slot_start < be AND bs < o.slot_end))
            AND (o.seat = ANY (seats) OR NOT (o.appointment_type_id = kind AND o.slot_start = s AND o.slot_end = e));
        IF until IS NOT NULL THEN -- otherwise the conflicting hold ended between the two queries: try again
            word := 'held';
            RETURN;
        END IF;
    END LOOP;
    -- Check booked time after the holds: a booking that has ended its hold in between is committed.
    WHILE holds_booked(kind, whom, s, e, bs, be, chosen, moving) LOOP
        free := array_remove(free, chosen);
        chosen := NULL;
        SELECT u.seat INTO chosen FROM unnest(free) WITH ORDINALITY AS u(seat, place)
            WHERE NOT EXISTS (SELECT 1 FROM holds_live o
                WHERE o.specialist_id = whom AND o.deadline > at AND o.id <> skip AND (o.pinned_until > 0 OR NOT displace)
                AND ((o.busy_start < e AND s < o.busy_end) OR (o.slot_start < be AND bs < o.slot_end))
                AND NOT (o.appointment_type_id = kind AND o.slot_start = s AND o.slot_end = e AND o.seat <> u.seat))
            ORDER BY u.place LIMIT 1;
        IF chosen IS NULL THEN
            word := 'taken';
            until := 0;
            RETURN;
        END IF;
    END LOOP;
    FOR grp IN SELECT json_array_elements(needs) LOOP
        -- Prefer a resource without a hold to one whose hold this claim would displace. Take no resource twice.
        LOOP
            SELECT u.r INTO pick FROM json_array_elements_text(grp) WITH ORDINALITY AS u(r, place)
                WHERE u.r <> ALL (taken) AND NOT EXISTS (SELECT 1 FROM holds_taking(u.r, s, e, bs, be, at) o WHERE o.id <> skip) ORDER BY u.place LIMIT 1;
            IF pick IS NULL AND displace THEN
                SELECT u.r INTO pick FROM json_array_elements_text(grp) WITH ORDINALITY AS u(r, place)
                    WHERE u.r <> ALL (taken) AND NOT EXISTS (SELECT 1 FROM holds_taking(u.r, s, e, bs, be, at) o WHERE o.pinned_until > 0)
                    ORDER BY u.place LIMIT 1;
            END IF;
            EXIT WHEN pick IS NOT NULL;
            SELECT max(o.deadline), count(*) INTO until, spared FROM json_array_elements_text(grp) AS r, holds_taking(r, s, e, bs, be, at) o
                WHERE r <> ALL (taken) AND o.id <> skip AND (o.pinned_until > 0 OR NOT displace);
            IF spared > 0 OR NOT EXISTS (SELECT 1 FROM json_array_elements_text(grp) AS r WHERE r <> ALL (taken)) THEN
                word := 'held';
                until := COALESCE(until, 0);
                RETURN;
            END IF;
        END LOOP;
        taken := taken || pick;
        IF displace THEN
            gone := gone || ARRAY(SELECT o.id FROM holds_taking(pick, s, e, bs, be, at) o WHERE o.id <> skip);
        END IF;
    END LOOP;
    until := 0;
    spared := 0;
    IF displace THEN
        gone := gone || ARRAY(SELECT o.id FROM holds_live o
            WHERE o.specialist_id = whom AND o.deadline > at AND o.id <> skip
            AND ((o.busy_start < e AND s < o.busy_end) OR (o.slot_start < be AND bs < o.slot_end))
            AND NOT (o.appointment_type_id = kind AND o.slot_start = s AND o.slot_end = e AND o.seat <> chosen));
    END IF;
    IF quota > 0 THEN
        IF displace OR skip <> '' THEN
            SELECT count(*) INTO spared FROM holds_live o WHERE (o.id = ANY (gone) OR o.id = skip) AND o.owner = own;
        END IF;
        IF (SELECT count(*) FROM holds_live o WHERE o.owner = own AND o.deadline > at) - spared >= quota THEN
            word := 'quota';
            RETURN;
        END IF;
    END IF;
    IF displace THEN
        FOR h IN
            WITH ended AS (DELETE FROM holds_live o WHERE o.id = ANY (gone) RETURNING *)
            SELECT * FROM ended ORDER BY slot_start
        LOOP
            PERFORM holds_tell('release', 'displaced', at, h);
        END LOOP;
    END IF;
    INSERT INTO holds_live (id, owner, appointment_type_id, specialist_id, slot_start, slot_end, busy_start, busy_end, seat, lapses_at,
            max_expires_at, life, call, resources)
        VALUES (made, own, kind, whom, s, e, bs, be, chosen, at + ttl, at + GREATEST(longest, ttl), GREATEST(longest, ttl), made, taken)
        RETURNING * INTO h;
    PERFORM holds_tell('hold', '', at, h);
    IF skip <> '' THEN
        DELETE FROM holds_live WHERE id = skip;
        PERFORM holds_tell('release', 'released', at, before);
    END IF;
    word := 'ok'; hold := holds_json(h);
END $$;

-- For programs of versions 9 and 10, whose claims replace no hold.
CREATE OR REPLACE FUNCTION holds_claim(made text, own text, kind text, whom text, s bigint, e bigint, bs bigint, be bigint, ttl bigint,
    longest bigint, quota integer, displace boolean, doubt boolean, seats integer[], needs json, moving text[], OUT word text, OUT until bigint, OUT hold json)
LANGUAGE sql AS $$
    SELECT c.word, c.until, c.hold
    FROM holds_claim(made, own, kind, whom, s, e, bs, be, ttl, longest, quota, displace, doubt, seats, needs, moving, ''::text, ''::text) AS c
$$;

-- For programs of version 8, whose claims have no appointments to move and no word for booked time.
CREATE OR REPLACE FUNCTION holds_claim(made text, own text, kind text, whom text, s bigint, e bigint, bs bigint, be bigint, ttl bigint,
    longest bigint, quota integer, displace boolean, doubt boolean, seats integer[], needs json, OUT word text, OUT until bigint, OUT hold json)
LANGUAGE sql AS $$
    SELECT CASE c.word WHEN 'taken' THEN 'held' ELSE c.word END, c.until, c.hold
    FROM holds_claim(made, own, kind, whom, s, e, bs, be, ttl, longest, quota, displace, doubt, seats, needs, '{}'::text[]) AS c
$$;

-- For programs before version 8, which have no resources.
CREATE OR REPLACE FUNCTION holds_claim(made text, own text, kind text, whom text, s bigint, e bigint, bs bigint, be bigint, ttl bigint,
    longest bigint, quota integer, displace boolean, doubt boolean, seats integer[], OUT word text, OUT until bigint, OUT hold json)
LANGUAGE sql AS $$
    SELECT c.word, c.until, c.hold FROM holds_claim(made, own, kind, whom, s, e, bs, be, ttl, longest, quota, displace, doubt, seats, '[]'::json) AS c
$$;

-- holds_find returns a live hold of an owner and locks it until the transaction ends. Otherwise why is the reason. at is
-- the time of the search.
CREATE OR REPLACE FUNCTION holds_find(which text, own text, OUT why text, OUT at bigint, OUT h holds_live) LANGUAGE plpgsql AS $$
BEGIN
    SELECT * INTO h FROM holds_live WHERE id = which FOR UPDATE;
    at := holds_clock();
    IF h.id IS NULL OR h.deadline <= at THEN
        why := 'not found';
    ELSIF h.owner <> own THEN
        why := 'not owner';
    END IF;
END $$;

-- holds_extend extends a hold: see holds.Table.Extend. word is 'ok' with the hold, 'not found', 'not owner' or 'restarts'.
CREATE OR REPLACE FUNCTION holds_extend(which text, own text, this text, ttl bigint, restart boolean, most integer, OUT word text, OUT hold json)
LANGUAGE plpgsql AS $$
DECLARE
    f record;
    h holds_live;
BEGIN
    SELECT * INTO f FROM holds_find(which, own);
    IF f.why IS NOT NULL THEN
        word := f.why;
        RETURN;
    END IF;
    h := f.h;
    IF restart AND h.restarts >= most THEN
        word := 'restarts';
        RETURN;
    END IF;
    IF restart THEN
        h.restarts := h.restarts + 1;
        h.max_expires_at := f.at + h.life;
    END IF;
    UPDATE holds_live SET restarts = h.restarts, max_expires_at = h.max_expires_at, call = this,
        lapses_at = GREATEST(lapses_at, LEAST(f.at + ttl, h.max_expires_at)) WHERE id = which RETURNING * INTO h;
    PERFORM holds_tell('heartbeat', '', f.at, h);
    word := 'ok'; hold := holds_json(h);
END $$;

-- holds_pin pins a hold while its booking is written, or unpins it: see holds.Table.Pin and Unpin. ms is the minimum
-- duration of the pin, or the grace after it. word is 'ok' with the hold, 'not found' or 'not owner'.
CREATE OR REPLACE FUNCTION holds_pin(which text, own text, this text, pin boolean, ms bigint, OUT word text, OUT hold json)
LANGUAGE plpgsql AS $$
DECLARE
    f record;
    h holds_live;
BEGIN
    SELECT * INTO f FROM holds_find(which, own);
    IF f.why IS NOT NULL THEN
        word := f.why;
        RETURN;
    END IF;
    UPDATE holds_live SET call = this,
        pinned_until = CASE WHEN pin THEN GREATEST(pinned_until, f.at + ms) ELSE 0 END,
        lapses_at = CASE WHEN NOT pin AND lapses_at <= f.at THEN f.at + ms ELSE lapses_at END
        WHERE id = which RETURNING * INTO h;
    word := 'ok'; hold := holds_json(h);
END $$;

-- holds_finish ends a hold for its owner: see holds.Table.Confirm and Release. remember is how long to remember this
-- call, for repeats, in milliseconds. word is 'ok', 'not found' or 'not owner'.
CREATE OR REPLACE FUNCTION holds_finish(which text, own text, this text, kind text, reason text, remember bigint, OUT word text)
LANGUAGE plpgsql AS $$
DECLARE
    f record;
BEGIN
    SELECT * INTO f FROM holds_find(which, own);
    IF f.why IS NOT NULL THEN
        word := f.why;
        RETURN;
    END IF;
    DELETE FROM holds_live WHERE id = which;
    INSERT INTO holds_endings (id, call, kept_until) VALUES (which, this, f.at + remember)
        ON CONFLICT (id) DO UPDATE SET call = excluded.call, kept_until = excluded.kept_until;
    PERFORM holds_tell(kind, reason, f.at, f.h);
    word := 'ok';
END $$;

-- holds_transfer assigns a hold to another owner: see holds.Table.Transfer. word is 'ok' with the hold, 'not found' or
-- 'not owner'.
CREATE OR REPLACE FUNCTION holds_transfer(which text, own text, this text, dest text, ttl bigint, longest bigint, OUT word text, OUT hold json)
LANGUAGE plpgsql AS $$
DECLARE
    f record;
    h holds_live;
BEGIN
    SELECT * INTO f FROM holds_find(which, own);
    IF f.why IS NOT NULL THEN
        word := f.why;
        RETURN;
    END IF;
    UPDATE holds_live SET call = this, owner = dest, lapses_at = f.at + ttl, pinned_until = 0, restarts = 0,
        life = GREATEST(longest, ttl), max_expires_at = f.at + GREATEST(longest, ttl) WHERE id = which RETURNING * INTO h;
    PERFORM holds_tell('heartbeat', '', f.at, h);
    word := 'ok'; hold := holds_json(h);
END $$;
