-- holds_lapse ends an expired hold whose row has been deleted. Only the store can show whether a pinned hold was booked:
-- if doubt is true, the hold waits in holds_doubts until a node resolves it. Its time is free immediately in either case.
CREATE OR REPLACE FUNCTION holds_lapse(h holds_live, at bigint, doubt boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF doubt AND h.pinned_until > 0 THEN
        INSERT INTO holds_doubts (id, ask_at, hold) VALUES (h.id, 0, holds_json(h)) ON CONFLICT (id) DO NOTHING;
    ELSE
        PERFORM holds_tell('release', 'expired', at, h);
    END IF;
END $$;

-- holds_sweep ends expired holds and selections, in the order of their deadlines, and returns doubts for this node to
-- resolve. One node sweeps at a time. Rows that another transaction has locked are left for the next sweep.
--
-- most     maximum number of holds and of selections to end
-- lease    how long this node has to resolve a doubt, milliseconds
-- doubtful maximum number of doubts to return
-- doubt    whether a node can report if an expired pinned hold was booked
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
        next := 5; -- the node that sweeps might not see a hold that expires now
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

-- holds_resolve publishes the outcome of an expired pinned hold, unless another node has published it.
CREATE OR REPLACE FUNCTION holds_resolve(doubted json, kind text, reason text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    d json;
BEGIN
    DELETE FROM holds_doubts WHERE id = doubted->>'id' RETURNING hold INTO d;
    IF FOUND THEN
        PERFORM pg_notify('holdfast_holds', (d::jsonb || jsonb_build_object('kind', kind, 'reason', reason, 'at', holds_clock()))::text);
    END IF;
END $$;
