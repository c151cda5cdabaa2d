-- The home of the live state of all nodes: see holds.Decisions. The row survives a crash, and the epoch never decreases.
CREATE TABLE IF NOT EXISTS holds_home (
    one    boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (one),
    epoch  bigint  NOT NULL,
    home   text    NOT NULL,
    open   boolean NOT NULL,
    before bigint  NOT NULL,               -- the epoch under which the state was last open
    source text    NOT NULL,               -- the home under that epoch
    sealed boolean NOT NULL DEFAULT false  -- the state for this home is complete, and nodes add nothing more
);

-- The epoch for which this server was opened as the home. A crash empties the table, like the tables of the live state.
CREATE UNLOGGED TABLE IF NOT EXISTS holds_whole (epoch bigint NOT NULL PRIMARY KEY);

DO $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM holds_home) THEN
        INSERT INTO holds_home (epoch, home, open, before, source) VALUES (1, 'postgres', true, 1, 'postgres');
        INSERT INTO holds_whole VALUES (1);
    END IF;
END $$;

-- The leases of the nodes. A crash empties the table, so a node with a new lease waits before it counts the others.
CREATE UNLOGGED TABLE IF NOT EXISTS holds_nodes (
    node      text COLLATE "C" NOT NULL PRIMARY KEY,
    beat      bigint  NOT NULL,
    left_     bigint  NOT NULL,
    reaches   boolean NOT NULL
);

-- holds_under returns its argument in a transaction that runs under an epoch. Otherwise it fails with HF001. The home
-- cannot change before the transaction ends. Callers wrap an argument of the function that makes the change in
-- holds_under, so that holds_under runs first.
--
-- how  0 for a change, 1 to fill the home with the sealed state, 2 to fill it with the state that a node remembers
CREATE OR REPLACE FUNCTION holds_under(under bigint, how integer, argument text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(1215261728 + 5, 0);
    PERFORM 1 FROM holds_home WHERE epoch = under AND home = 'postgres'
        AND CASE how WHEN 0 THEN open AND EXISTS (SELECT 1 FROM holds_whole w WHERE w.epoch = under) WHEN 1 THEN NOT open AND sealed ELSE NOT open AND NOT sealed END;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'live state has moved' USING ERRCODE = 'HF001';
    END IF;
    RETURN argument;
END $$;

CREATE OR REPLACE FUNCTION holds_lease(who text, has_left bigint, can_reach boolean,
    OUT epoch bigint, OUT home text, OUT open boolean, OUT before bigint, OUT source text, OUT fresh boolean)
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE holds_nodes SET beat = beat + 1, left_ = has_left, reaches = can_reach WHERE node = who;
    fresh := NOT FOUND;
    IF fresh THEN
        INSERT INTO holds_nodes VALUES (who, 1, has_left, can_reach) ON CONFLICT DO NOTHING;
    END IF;
    SELECT h.epoch, h.home, h.open, h.before, h.source INTO epoch, home, open, before, source FROM holds_home h;
END $$;

-- holds_move decides on a new home. If the state never left PostgreSQL, holds_move opens it there again immediately.
CREATE OR REPLACE FUNCTION holds_move(from_ bigint, above bigint, to_ text,
    OUT epoch bigint, OUT home text, OUT open boolean, OUT before bigint, OUT source text)
LANGUAGE plpgsql AS $$
DECLARE
    was holds_home;
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    PERFORM pg_advisory_xact_lock(1215261728 + 5, 0);
    SELECT * INTO was FROM holds_home;
    IF was.epoch = from_ THEN
        IF was.open THEN
            was.before := was.epoch;
            was.source := was.home;
        END IF;
        IF to_ = 'postgres' AND was.open AND was.home <> 'postgres' THEN
            DELETE FROM holds_live;
            DELETE FROM holds_selections;
            DELETE FROM holds_presence;
            DELETE FROM holds_doubts;
        END IF;
        UPDATE holds_home h SET epoch = GREATEST(was.epoch, above) + 1, home = to_, before = was.before, source = was.source, sealed = false, open = false;
        IF to_ = 'postgres' AND NOT was.open AND was.source = 'postgres'
            AND EXISTS (SELECT 1 FROM holds_whole w WHERE w.epoch = was.before) THEN
            UPDATE holds_home SET open = true;
            UPDATE holds_whole w SET epoch = GREATEST(was.epoch, above) + 1;
        END IF;
        PERFORM pg_notify('holdfast_home', '');
    END IF;
    SELECT h.epoch, h.home, h.open, h.before, h.source INTO epoch, home, open, before, source FROM holds_home h;
END $$;

-- holds_seal deletes the state that nodes remembered of the previous home, after the complete state has been read from
-- that home. It does so only once per epoch, and reports whether it did.
CREATE OR REPLACE FUNCTION holds_seal(under bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1215261728 + 5, 0);
    UPDATE holds_home SET sealed = true WHERE epoch = under AND home = 'postgres' AND NOT open AND NOT sealed;
    IF FOUND THEN
        DELETE FROM holds_live;
        DELETE FROM holds_selections;
        DELETE FROM holds_presence;
        DELETE FROM holds_doubts;
    END IF;
    RETURN FOUND;
END $$;

CREATE OR REPLACE FUNCTION holds_open(under bigint,
    OUT epoch bigint, OUT home text, OUT open boolean, OUT before bigint, OUT source text)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    PERFORM pg_advisory_xact_lock(1215261728 + 5, 0);
    UPDATE holds_home h SET open = true WHERE h.epoch = under AND NOT h.open;
    IF FOUND THEN
        DELETE FROM holds_whole;
        INSERT INTO holds_whole SELECT h.epoch FROM holds_home h WHERE h.home = 'postgres';
        PERFORM pg_notify('holdfast_home', '');
    END IF;
    SELECT h.epoch, h.home, h.open, h.before, h.source INTO epoch, home, open, before, source FROM holds_home h;
END $$;
