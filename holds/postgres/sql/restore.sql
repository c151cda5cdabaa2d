-- holds_restore restores a hold from another storage: see holds.Restorer.
--
-- left_    milliseconds until the hold expires without a pin
-- pinned   milliseconds until its pin ends, 0 without a pin
-- maximum  milliseconds until the end of its maximum lifetime
-- life_    maximum lifetime of its claim, milliseconds
-- this     names this call
-- also     its resources
-- doubt    whether a node can report if an expired pinned hold was booked
--
-- word is 'ok' with the hold, or 'held' with the latest conflicting deadline.
CREATE OR REPLACE FUNCTION holds_restore(made text, own text, kind text, whom text, s bigint, e bigint, bs bigint, be bigint, place integer,
    left_ bigint, pinned bigint, maximum bigint, life_ bigint, again integer, this text, doubt boolean, also text[],
    OUT word text, OUT until bigint, OUT hold json)
LANGUAGE plpgsql AS $$
DECLARE
    at bigint;
    h  holds_live;
BEGIN
    until := 0;
    PERFORM holds_lock(1, own);
    PERFORM holds_lock_all(2, also || whom);
    at := holds_clock();
    FOR h IN
        WITH gone AS (DELETE FROM holds_live WHERE (specialist_id = whom OR resources <> '{}' AND resources && also) AND deadline <= at RETURNING *)
        SELECT * FROM gone ORDER BY deadline
    LOOP
        PERFORM holds_lapse(h, at, doubt);
    END LOOP;
    UPDATE holds_live SET lapses_at = at + left_, pinned_until = CASE WHEN pinned > 0 THEN at + pinned ELSE 0 END,
        max_expires_at = at + maximum, life = life_, restarts = again, call = this
        WHERE id = made AND owner = own RETURNING * INTO h;
    IF FOUND THEN
        PERFORM holds_tell('heartbeat', '', at, h);
        word := 'ok'; hold := holds_json(h);
        RETURN;
    END IF;
    SELECT max(o.deadline) INTO until FROM holds_live o
        WHERE o.specialist_id = whom AND o.deadline > at
        AND ((o.busy_start < e AND s < o.busy_end) OR (o.slot_start < be AND bs < o.slot_end))
        AND NOT (o.appointment_type_id = kind AND o.slot_start = s AND o.slot_end = e AND (o.owner = own OR o.seat <> place));
    SELECT GREATEST(until, max(o.deadline)) INTO until FROM unnest(also) AS r, holds_taking(r, s, e, bs, be, at) o
        WHERE NOT (o.specialist_id = whom AND o.owner = own AND o.appointment_type_id = kind AND o.slot_start = s AND o.slot_end = e);
    IF until IS NOT NULL THEN
        word := 'held';
        RETURN;
    END IF;
    until := 0;
    FOR h IN
        DELETE FROM holds_live o WHERE o.specialist_id = whom AND o.owner = own AND o.appointment_type_id = kind AND o.slot_start = s
            AND o.slot_end = e AND o.deadline > at RETURNING *
    LOOP
        PERFORM holds_tell('release', 'released', at, h);
    END LOOP;
    INSERT INTO holds_live (id, owner, appointment_type_id, specialist_id, slot_start, slot_end, busy_start, busy_end, seat, lapses_at,
            pinned_until, max_expires_at, life, restarts, call, resources)
        VALUES (made, own, kind, whom, s, e, bs, be, place, at + left_, CASE WHEN pinned > 0 THEN at + pinned ELSE 0 END, at + maximum,
            life_, again, this, also)
        RETURNING * INTO h;
    PERFORM holds_tell('hold', '', at, h);
    word := 'ok'; hold := holds_json(h);
END $$;

-- For programs without resources.
CREATE OR REPLACE FUNCTION holds_restore(made text, own text, kind text, whom text, s bigint, e bigint, bs bigint, be bigint, place integer,
    left_ bigint, pinned bigint, maximum bigint, life_ bigint, again integer, this text, doubt boolean,
    OUT word text, OUT until bigint, OUT hold json)
LANGUAGE sql AS $$
    SELECT r.word, r.until, r.hold FROM holds_restore(made, own, kind, whom, s, e, bs, be, place, left_, pinned, maximum, life_, again, this,
        doubt, '{}'::text[]) AS r
$$;

-- holds_restore_all runs holds_restore for many holds in one transaction, in the order of their n. To prevent deadlocks,
-- it first takes all locks in the order of all other calls: those of owners before those of specialists. It inserts all
-- holds without a possible conflict with one statement.
--
-- batch  a list of objects with n and the arguments of holds_restore by their names
CREATE OR REPLACE FUNCTION holds_restore_all(batch json, this text, doubt boolean)
RETURNS TABLE (n integer, word text, until bigint, hold text)
LANGUAGE plpgsql AS $$
DECLARE
    r  record;
    x  record;
    at bigint;
BEGIN
    FOR r IN SELECT DISTINCT hashtext(b.own) AS k FROM json_to_recordset(batch) AS b(own text) ORDER BY k LOOP
        PERFORM pg_advisory_xact_lock(1215261728 + 1, r.k);
    END LOOP;
    PERFORM holds_lock_all(2, ARRAY(SELECT b.whom FROM json_to_recordset(batch) AS b(whom text)
        UNION ALL SELECT w FROM json_to_recordset(batch) AS b(also text[]), unnest(b.also) AS w));
    at := holds_clock();
    RETURN QUERY
        WITH b AS MATERIALIZED (
            SELECT * FROM json_to_recordset(batch) AS b(n integer, made text, own text, kind text, whom text, s bigint, e bigint, bs bigint,
                be bigint, place integer, left_ bigint, pinned bigint, maximum bigint, life_ bigint, again integer, also text[])),
        free AS (
            SELECT * FROM b WHERE COALESCE(b.also, '{}') = '{}' AND NOT EXISTS (SELECT 1 FROM holds_live o WHERE o.specialist_id = b.whom OR o.id = b.made)
            AND NOT EXISTS (SELECT 1 FROM b AS c WHERE c.n <> b.n AND (c.made = b.made OR c.whom = b.whom AND c.bs < b.be AND b.bs < c.be))),
        put AS (
            INSERT INTO holds_live AS h (id, owner, appointment_type_id, specialist_id, slot_start, slot_end, busy_start, busy_end, seat, lapses_at,
                pinned_until, max_expires_at, life, restarts, call)
            SELECT made, own, kind, whom, s, e, bs, be, place, at + left_, CASE WHEN pinned > 0 THEN at + pinned ELSE 0 END, at + maximum,
                life_, again, this FROM free
            RETURNING h.id, holds_json(h)::text AS hold, holds_tell('hold', '', at, h) IS NULL AS untold)
        SELECT free.n, 'ok'::text, 0::bigint, put.hold FROM put JOIN free ON free.made = put.id WHERE put.untold IS NOT NULL;
    FOR r IN SELECT b.* FROM json_to_recordset(batch) AS b(n integer, made text, own text, kind text, whom text, s bigint, e bigint, bs bigint,
        be bigint, place integer, left_ bigint, pinned bigint, maximum bigint, life_ bigint, again integer, also text[])
        WHERE NOT EXISTS (SELECT 1 FROM holds_live o WHERE o.id = b.made AND o.call = this) ORDER BY b.n
    LOOP
        SELECT o.word, o.until, o.hold INTO x FROM holds_restore(r.made, r.own, r.kind, r.whom, r.s, r.e, r.bs, r.be, r.place, r.left_,
            r.pinned, r.maximum, r.life_, r.again, this, doubt, COALESCE(r.also, '{}')) AS o;
        n := r.n;
        word := x.word;
        until := x.until;
        hold := COALESCE(x.hold::text, '');
        RETURN NEXT;
    END LOOP;
END $$;
