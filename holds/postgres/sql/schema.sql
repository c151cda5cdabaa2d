-- The live state of all nodes on one database: see holds.Backend. Each version of this text runs once, under a lock
-- (schema.go).
--
-- The tables are UNLOGGED: changes are not written to the write-ahead log, and a crash of the server empties the tables.
-- Every node notices a crash because its connections break. Instants are Unix milliseconds of the server's own clock. A
-- hold has expired if its deadline is not after now, whether or not its row still exists.

CREATE TABLE IF NOT EXISTS holds_schema (version integer NOT NULL);

-- One row for each hold.
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
    lapses_at           bigint  NOT NULL,            -- the expiry without a pin
    pinned_until        bigint  NOT NULL DEFAULT 0,  -- 0 without a pin
    max_expires_at      bigint  NOT NULL,
    life                bigint  NOT NULL,            -- the maximum lifetime after a restart
    restarts            integer NOT NULL DEFAULT 0,
    call                text COLLATE "C" NOT NULL,   -- the last call that changed the hold
    deadline            bigint  NOT NULL GENERATED ALWAYS AS (GREATEST(lapses_at, pinned_until)) STORED
);
-- The rooms and devices that the hold takes in addition to its specialist's time.
ALTER TABLE holds_live ADD COLUMN IF NOT EXISTS resources text[] NOT NULL DEFAULT '{}';
CREATE INDEX IF NOT EXISTS holds_live_resources  ON holds_live USING gin (resources) WHERE resources <> '{}';
CREATE INDEX IF NOT EXISTS holds_live_specialist ON holds_live (specialist_id);
CREATE INDEX IF NOT EXISTS holds_live_owner      ON holds_live (owner);
CREATE INDEX IF NOT EXISTS holds_live_deadline   ON holds_live (deadline);

-- The call that ended a hold, so that a caller that lost the answer can repeat the call.
CREATE UNLOGGED TABLE IF NOT EXISTS holds_endings (
    id         text COLLATE "C" NOT NULL PRIMARY KEY,
    call       text COLLATE "C" NOT NULL,
    kept_until bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS holds_endings_kept ON holds_endings (kept_until);

-- Expired pinned holds, each with the time at which a node may ask (again) whether the hold was booked.
CREATE UNLOGGED TABLE IF NOT EXISTS holds_doubts (
    id     text COLLATE "C" NOT NULL PRIMARY KEY,
    ask_at bigint NOT NULL,
    hold   json NOT NULL
);

-- The selection of each client, at most one.
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

-- Every known specialist has a row. A specialist is reachable if online and not deactivated.
CREATE UNLOGGED TABLE IF NOT EXISTS holds_presence (
    specialist_id text COLLATE "C" NOT NULL PRIMARY KEY,
    online        boolean NOT NULL DEFAULT false,
    deactivated   boolean NOT NULL DEFAULT false,
    heartbeat_at  bigint  NOT NULL DEFAULT 0,
    load          integer NOT NULL DEFAULT 0,
    capacity      integer NOT NULL DEFAULT 0
);

-- holds_clock returns the current time in whole milliseconds.
CREATE OR REPLACE FUNCTION holds_clock() RETURNS bigint LANGUAGE sql VOLATILE AS
    $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

-- holds_json returns a hold in the format that package node reads.
CREATE OR REPLACE FUNCTION holds_json(h holds_live) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object('id', h.id, 'owner', h.owner, 'appointmentTypeId', h.appointment_type_id, 'specialistId', h.specialist_id,
        'slotStart', h.slot_start, 'slotEnd', h.slot_end, 'busyStart', h.busy_start, 'busyEnd', h.busy_end, 'seat', h.seat,
        'lapsesAt', h.lapses_at, 'pinnedUntil', h.pinned_until, 'maxExpiresAt', h.max_expires_at, 'life', h.life,
        'restarts', h.restarts, 'call', h.call, 'expiresAt', h.deadline, 'resources', array_to_string(h.resources, ' ')) $$;

-- holds_tell publishes an event of a hold. Nodes receive it when the transaction commits, in the order of the commits.
CREATE OR REPLACE FUNCTION holds_tell(kind text, reason text, at bigint, h holds_live) RETURNS void LANGUAGE sql VOLATILE AS $$
    SELECT pg_notify('holdfast_holds', json_build_object('kind', kind, 'reason', reason, 'at', at, 'expiresAt', h.deadline, 'maxExpiresAt', h.max_expires_at, 'id', h.id,
        'owner', h.owner, 'appointmentTypeId', h.appointment_type_id, 'specialistId', h.specialist_id, 'slotStart', h.slot_start,
        'slotEnd', h.slot_end, 'busyStart', h.busy_start, 'busyEnd', h.busy_end, 'seat', h.seat, 'resources', array_to_string(h.resources, ' '))::text) $$;

-- The locks of a transaction: 1 is for a client's claims, 2 for the time of a specialist or a resource, 3 for a client's
-- selection, 4 for the sweep. A transaction takes the client's lock first, and several locks of one kind in the order of
-- their hashes (holds_lock_all). Two names with the same hash share a lock; their transactions only wait for each other.
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

-- holds_taking returns the live holds that take a resource at a time that conflicts with a span.
CREATE OR REPLACE FUNCTION holds_taking(resource text, s bigint, e bigint, bs bigint, be bigint, at bigint) RETURNS SETOF holds_live
LANGUAGE sql STABLE AS $$
    SELECT * FROM holds_live o WHERE o.resources @> ARRAY[resource] AND o.resources <> '{}' AND o.deadline > at
        AND ((o.busy_start < e AND s < o.busy_end) OR (o.slot_start < be AND bs < o.slot_end)) $$;
