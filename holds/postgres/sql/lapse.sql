-- holds_lapse ends a hold whose deadline has come and whose row is gone. Whether a pinned one was booked only the store knows: if
-- doubt, it waits in holds_doubts for a node that asks. Its time is free at once all the same.
CREATE OR REPLACE FUNCTION holds_lapse(h holds_live, at bigint, doubt boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF doubt AND h.pinned_until > 0 THEN
        INSERT INTO holds_doubts (id, ask_at, hold) VALUES (h.id, 0, holds_json(h)) ON CONFLICT (id) DO NOTHING;
    ELSE
        PERFORM holds_tell('release', 'expired', at, h);
    END IF;
END $$;

-- holds_sweep ends what has lapsed, in the order of the deadlines, and takes what nobody knows the end of. One node sweeps at a
-- time; what somebody else changes at this moment is left for the next sweep.
--
-- most    how many holds and selections to end at most
-- lease   for how long a doubt is this node's to resolve, milliseconds
-- doubtful how many doubts to take at most
-- doubt   whether somebody can say if a pinned hold that lapsed was booked
--
-- Returns the milliseconds to the next deadline, or -1, and the doubts.
CREATE OR REPLACE FUNCTION holds_sweep(most integer, lease bigint, doubtful integer, doubt boolean, OUT next bigint, OUT doubts text[])
LANGUAGE plpgsql AS $$
DECLARE
    at bigint;
    h  holds_live;
    x  holds_selections;
BEGIN
    doubts := ARRAY[]::text[];
    IF NOT pg_try_advisory_xact_lock(1215261728 + 4, 0) THEN
        next := 5; -- whoever sweeps may not see what lapses now
        RETURN;
    END IF;
    at := holds_clock();
    FOR h IN
        WITH due AS (SELECT id FROM holds_live WHERE deadline <= at ORDER BY deadline LIMIT most FOR UPDATE SKIP LOCKED),
             gone AS (DELETE FROM holds_live WHERE id IN (SELECT id FROM due) RETURNING *)
        SELECT * FROM gone ORDER BY deadline
    LOOP
        PERFORM holds_lapse(h, at, doubt);
    END LOOP;
    FOR x IN
        WITH due AS (SELECT owner FROM holds_selections WHERE deadline <= at ORDER BY deadline LIMIT most FOR UPDATE SKIP LOCKED),
             gone AS (DELETE FROM holds_selections WHERE owner IN (SELECT owner FROM due) RETURNING *)
        SELECT * FROM gone ORDER BY deadline
    LOOP
        PERFORM holds_tell_selection('deselect', 'expired', at, x);
    END LOOP;
    DELETE FROM holds_endings WHERE id IN (SELECT id FROM holds_endings WHERE kept_until <= at ORDER BY kept_until LIMIT most * 4 FOR UPDATE SKIP LOCKED);
    IF doubtful > 0 THEN
        WITH due AS (SELECT id FROM holds_doubts WHERE ask_at <= at ORDER BY ask_at LIMIT doubtful FOR UPDATE SKIP LOCKED),
             taken AS (UPDATE holds_doubts SET ask_at = at + lease WHERE id IN (SELECT id FROM due) RETURNING hold::text AS hold)
        SELECT COALESCE(array_agg(hold), ARRAY[]::text[]) INTO doubts FROM taken;
    END IF;
    next := LEAST((SELECT min(deadline) FROM holds_live), (SELECT min(deadline) FROM holds_selections)) - at;
    next := CASE WHEN next IS NULL THEN -1 ELSE GREATEST(0, next) END; -- GREATEST(0, NULL) is 0, which means now
END $$;

-- holds_resolve publishes how a pinned hold that lapsed has ended, unless another node did.
CREATE OR REPLACE FUNCTION holds_resolve(doubted json, kind text, reason text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    d json;
BEGIN
    DELETE FROM holds_doubts WHERE id = doubted->>'id' RETURNING hold INTO d;
    IF FOUND THEN
        PERFORM pg_notify('holdfast_holds', (d::jsonb || jsonb_build_object('kind', kind, 'reason', reason, 'at', holds_clock()))::text);
    END IF;
END $$;
