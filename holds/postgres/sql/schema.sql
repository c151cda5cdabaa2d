-- The live state of all nodes on one database: see holds.Backend. It is run once per version, under a lock (schema.go).
--
-- The tables are UNLOGGED: nothing in them goes to the write-ahead log, and a crash of the server empties them, which every node
-- is told by its connections breaking. Instants are Unix milliseconds of the server's own clock; a hold has lapsed when its
-- deadline is not after now, whether or not its row is still there.

CREATE TABLE IF NOT EXISTS holds_schema (version integer NOT NULL);

-- What never changes of a hold, and of a selection, as the events tell it.
CREATE UNLOGGED TABLE IF NOT EXISTS holds_live (
    id                  text COLLATE "C" NOT NULL PRIMARY KEY,
    owner               text COLLATE "C" NOT NULL,
    appointment_type_id text COLLATE "C" NOT NULL,
    specialist_id       text COLLATE "C" NOT NULL,
    slot_start          bigint  NOT NULL,
    slot_end            bigint  NOT NULL,
    busy_start          bigint  NOT NULL,
    busy_end            bigint  NOT NULL,
    seat                integer NOT NULL,
    lapses_at           bigint  NOT NULL,            -- without a pin
    pinned_until        bigint  NOT NULL DEFAULT 0,  -- 0 without one
    max_expires_at      bigint  NOT NULL,
    life                bigint  NOT NULL,            -- of a restart
    restarts            integer NOT NULL DEFAULT 0,
    call                text COLLATE "C" NOT NULL,   -- the last that changed it
    deadline            bigint  NOT NULL GENERATED ALWAYS AS (GREATEST(lapses_at, pinned_until)) STORED
);
-- The rooms and devices that it takes besides its specialist's time.
ALTER TABLE holds_live ADD COLUMN IF NOT EXISTS resources text[] NOT NULL DEFAULT '{}';
CREATE INDEX IF NOT EXISTS holds_live_resources  ON holds_live USING gin (resources) WHERE resources <> '{}';
CREATE INDEX IF NOT EXISTS holds_live_specialist ON holds_live (specialist_id);
CREATE INDEX IF NOT EXISTS holds_live_owner      ON holds_live (owner);
CREATE INDEX IF NOT EXISTS holds_live_deadline   ON holds_live (deadline);

-- Which call ended a hold, for whoever lost the answer.
CREATE UNLOGGED TABLE IF NOT EXISTS holds_endings (
    id         text COLLATE "C" NOT NULL PRIMARY KEY,
    call       text COLLATE "C" NOT NULL,
    kept_until bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS holds_endings_kept ON holds_endings (kept_until);

-- Pinned holds that lapsed, by when a node may ask (again) whether they were booked.
CREATE UNLOGGED TABLE IF NOT EXISTS holds_doubts (
    id     text COLLATE "C" NOT NULL PRIMARY KEY,
    ask_at bigint NOT NULL,
    hold   json NOT NULL
);

-- One selection of each client.
CREATE UNLOGGED TABLE IF NOT EXISTS holds_selections (
    owner               text COLLATE "C" NOT NULL PRIMARY KEY,
    appointment_type_id text COLLATE "C" NOT NULL,
    specialist_id       text COLLATE "C" NOT NULL,
    slot_start          bigint NOT NULL,
    slot_end            bigint NOT NULL,
    busy_start          bigint NOT NULL,
    busy_end            bigint NOT NULL,
    deadline            bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS holds_selections_specialist ON holds_selections (specialist_id);
CREATE INDEX IF NOT EXISTS holds_selections_deadline   ON holds_selections (deadline);

-- Who is known has a row. Who can be reached is online and not deactivated.
CREATE UNLOGGED TABLE IF NOT EXISTS holds_presence (
    specialist_id text COLLATE "C" NOT NULL PRIMARY KEY,
    online        boolean NOT NULL DEFAULT false,
    deactivated   boolean NOT NULL DEFAULT false,
    heartbeat_at  bigint  NOT NULL DEFAULT 0,
    load          integer NOT NULL DEFAULT 0,
    capacity      integer NOT NULL DEFAULT 0
);

-- holds_clock is now, in whole milliseconds.
CREATE OR REPLACE FUNCTION holds_clock() RETURNS bigint LANGUAGE sql VOLATILE AS
    $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

-- holds_json is a hold in the form that package node reads.
CREATE OR REPLACE FUNCTION holds_json(h holds_live) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object('id', h.id, 'owner', h.owner, 'appointmentTypeId', h.appointment_type_id, 'specialistId', h.specialist_id,
        'slotStart', h.slot_start, 'slotEnd', h.slot_end, 'busyStart', h.busy_start, 'busyEnd', h.busy_end, 'seat', h.seat,
        'lapsesAt', h.lapses_at, 'pinnedUntil', h.pinned_until, 'maxExpiresAt', h.max_expires_at, 'life', h.life,
        'restarts', h.restarts, 'call', h.call, 'expiresAt', h.deadline, 'resources', array_to_string(h.resources, ' ')) $$;

-- holds_tell publishes an event of a hold. It is heard when the transaction commits, and in the order of the commits.
CREATE OR REPLACE FUNCTION holds_tell(kind text, reason text, at bigint, h holds_live) RETURNS void LANGUAGE sql VOLATILE AS $$
    SELECT pg_notify('holdfast_holds', json_build_object('kind', kind, 'reason', reason, 'at', at, 'expiresAt', h.deadline, 'maxExpiresAt', h.max_expires_at, 'id', h.id,
        'owner', h.owner, 'appointmentTypeId', h.appointment_type_id, 'specialistId', h.specialist_id, 'slotStart', h.slot_start,
        'slotEnd', h.slot_end, 'busyStart', h.busy_start, 'busyEnd', h.busy_end, 'seat', h.seat, 'resources', array_to_string(h.resources, ' '))::text) $$;

-- Locks of a transaction, always the client's first: 1 is a client's claims, 2 a specialist's or a resource's time, 3 a client's
-- selection, 4 the sweep. Several of one kind are taken in the order of their hashes (holds_lock_all). Two that share a lock by the chance of their hashes wait for each other and for nothing else.
CREATE OR REPLACE FUNCTION holds_lock(what integer, whose text) RETURNS void LANGUAGE sql VOLATILE AS
    $$ SELECT pg_advisory_xact_lock(1215261728 + what, hashtext(whose)) $$;

CREATE OR REPLACE FUNCTION holds_lock_all(what integer, whose text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    k integer;
BEGIN
    FOR k IN SELECT DISTINCT hashtext(w) AS hash FROM unnest(whose) AS w ORDER BY hash LOOP
        PERFORM pg_advisory_xact_lock(1215261728 + what, k);
    END LOOP;
END $$;

-- holds_taking is the live holds that take a resource when a span would.
CREATE OR REPLACE FUNCTION holds_taking(resource text, s bigint, e bigint, bs bigint, be bigint, at bigint) RETURNS SETOF holds_live
LANGUAGE sql STABLE AS $$
    SELECT * FROM holds_live o WHERE o.resources @> ARRAY[resource] AND o.resources <> '{}' AND o.deadline > at
        AND ((o.busy_start < e AND s < o.busy_end) OR (o.slot_start < be AND bs < o.slot_end)) $$;
