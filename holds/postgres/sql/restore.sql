-- holds_restore takes over a hold from where it was kept meanwhile: see holds.Restorer.
--
-- left_, pinned, maximum  milliseconds until it lapses without a pin, until its pin ends (0 without one), until its maximum
-- life                   longest life of its claim, milliseconds
-- this                   names this call
-- doubt                  whether somebody can say if a pinned hold that lapsed was booked
--
-- word is 'ok' with the hold, or 'held' with the latest deadline in the way.
CREATE OR REPLACE FUNCTION holds_restore(made text, own text, kind text, whom text, s bigint, e bigint, bs bigint, be bigint, place integer,
    left_ bigint, pinned bigint, maximum bigint, life_ bigint, again integer, this text, doubt boolean,
    OUT word text, OUT until bigint, OUT hold json)
LANGUAGE plpgsql AS $$
DECLARE
    at bigint;
    h  holds_live;
BEGIN
    until := 0;
    PERFORM holds_lock(1, own);
    PERFORM holds_lock(2, whom);
    at := holds_clock();
    FOR h IN
        WITH gone AS (DELETE FROM holds_live WHERE specialist_id = whom AND deadline <= at RETURNING *)
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
            pinned_until, max_expires_at, life, restarts, call)
        VALUES (made, own, kind, whom, s, e, bs, be, place, at + left_, CASE WHEN pinned > 0 THEN at + pinned ELSE 0 END, at + maximum,
            life_, again, this)
        RETURNING * INTO h;
    PERFORM holds_tell('hold', '', at, h);
    word := 'ok'; hold := holds_json(h);
END $$;
