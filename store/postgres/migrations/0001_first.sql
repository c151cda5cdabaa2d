-- The first schema: what store/sqlite has, in PostgreSQL's words. Instants are bigint Unix milliseconds, local dates text like
-- 2026-11-23, times of day minutes after midnight. NULL means "never" for an instant and "none" for a reference. Whatever is
-- sorted or compared for order is COLLATE "C", byte by byte, whatever the database was made with.

CREATE EXTENSION IF NOT EXISTS btree_gist;

CREATE TABLE meta (
    key   text COLLATE "C" NOT NULL PRIMARY KEY,
    value text NOT NULL
);

INSERT INTO meta (key, value) VALUES ('database_id', replace(gen_random_uuid()::text, '-', ''));

-- The schedule -------------------------------------------------------------------------------------------------------

CREATE TABLE clinic (
    id       bigint NOT NULL PRIMARY KEY CHECK (id = 1),
    name     text COLLATE "C" NOT NULL,
    timezone text NOT NULL,
    locale   text NOT NULL,
    phone    text NOT NULL,
    email    text COLLATE "C" NOT NULL,
    address  text NOT NULL,
    website  text NOT NULL,
    settings text
);

CREATE TABLE specialists (
    id                        text COLLATE "C" NOT NULL PRIMARY KEY,
    name                      text COLLATE "C" NOT NULL,
    timezone                  text NOT NULL,
    active                    boolean NOT NULL,
    email                     text COLLATE "C" NOT NULL,
    max_sessions              bigint NOT NULL CHECK (max_sessions >= 0),
    position                  bigint NOT NULL,
    upstream_schedule_view_id text COLLATE "C" NOT NULL,
    upstream_column_id        text COLLATE "C" NOT NULL,
    archived                  boolean NOT NULL DEFAULT false,
    -- How far the busy time of any appointment of this specialist ever reached before and after its slot's start.
    -- The guarantee and availability look no further than this, so it only ever grows.
    reach_before_ms           bigint NOT NULL DEFAULT 0,
    reach_after_ms            bigint NOT NULL DEFAULT 0
);

CREATE FUNCTION reach_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'reach_shrinks' USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER specialists_reach_grows
BEFORE UPDATE OF reach_before_ms, reach_after_ms ON specialists
FOR EACH ROW WHEN (NEW.reach_before_ms < OLD.reach_before_ms OR NEW.reach_after_ms < OLD.reach_after_ms)
EXECUTE FUNCTION reach_grows();

CREATE TABLE appointment_types (
    id                    text COLLATE "C" NOT NULL PRIMARY KEY,
    name                  text COLLATE "C" NOT NULL,
    description           text NOT NULL,
    duration_minutes      bigint NOT NULL CHECK (duration_minutes BETWEEN 1 AND 1440),
    slot_step_minutes     bigint NOT NULL CHECK (slot_step_minutes BETWEEN 1 AND 1440),
    buffer_before_minutes bigint NOT NULL CHECK (buffer_before_minutes >= 0),
    buffer_after_minutes  bigint NOT NULL CHECK (buffer_after_minutes >= 0),
    min_notice_minutes    bigint NOT NULL CHECK (min_notice_minutes >= 0),
    horizon_days          bigint NOT NULL CHECK (horizon_days >= 0),
    cooldown_minutes      bigint NOT NULL CHECK (cooldown_minutes >= 0),
    capacity              bigint NOT NULL CHECK (capacity >= 1),
    largest_capacity      bigint NOT NULL CHECK (largest_capacity >= capacity), -- seats once sold stay valid
    hold_ttl_seconds      bigint NOT NULL CHECK (hold_ttl_seconds >= 0),
    max_hold_seconds      bigint NOT NULL CHECK (max_hold_seconds >= 0),
    hold_quota            bigint NOT NULL CHECK (hold_quota >= 0),
    active                boolean NOT NULL,
    position              bigint NOT NULL,
    upstream_type_id      text COLLATE "C" NOT NULL,
    archived              boolean NOT NULL DEFAULT false
);

CREATE TABLE assignments (
    appointment_type_id text COLLATE "C" NOT NULL REFERENCES appointment_types (id),
    specialist_id       text COLLATE "C" NOT NULL REFERENCES specialists (id),
    priority            bigint NOT NULL,
    PRIMARY KEY (appointment_type_id, specialist_id)
);

CREATE INDEX idx_assignments_specialist ON assignments (specialist_id);

CREATE TABLE weekly_hours (
    specialist_id text COLLATE "C" NOT NULL REFERENCES specialists (id),
    weekday       bigint NOT NULL CHECK (weekday BETWEEN 1 AND 7), -- ISO 8601: Monday is 1
    start_minute  bigint NOT NULL CHECK (start_minute >= 0),
    end_minute    bigint NOT NULL CHECK (end_minute > start_minute AND end_minute <= 1440),
    PRIMARY KEY (specialist_id, weekday, start_minute)
);

CREATE TABLE overrides (
    id            text COLLATE "C" NOT NULL PRIMARY KEY,
    specialist_id text COLLATE "C" NOT NULL REFERENCES specialists (id),
    date          text COLLATE "C" NOT NULL CHECK (length(date) = 10),
    closed        boolean NOT NULL,
    reason        text NOT NULL,
    UNIQUE (specialist_id, date)
);

CREATE TABLE override_windows (
    override_id  text COLLATE "C" NOT NULL REFERENCES overrides (id) ON UPDATE CASCADE ON DELETE CASCADE,
    start_minute bigint NOT NULL CHECK (start_minute >= 0),
    end_minute   bigint NOT NULL CHECK (end_minute > start_minute AND end_minute <= 1440),
    PRIMARY KEY (override_id, start_minute)
);

-- Blocks: stretches of time in which a specialist takes no bookings, each a thing of its own beside the hours.
CREATE TABLE blocks (
    id            text COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    specialist_id text COLLATE "C" NOT NULL REFERENCES specialists (id),
    start_at      bigint NOT NULL,
    end_at        bigint NOT NULL CHECK (end_at > start_at),
    reason        text NOT NULL
);

-- The schedule reads those that have not ended long ago.
CREATE INDEX idx_blocks_end ON blocks (end_at);

-- Appointments and the guarantee -------------------------------------------------------------------------------------

CREATE TABLE appointments (
    id                  text COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    appointment_type_id text COLLATE "C" NOT NULL REFERENCES appointment_types (id),
    specialist_id       text COLLATE "C" NOT NULL REFERENCES specialists (id),
    client_id           text COLLATE "C" NOT NULL, -- the owner: of a client's secret the first 16 bytes of its SHA-256, in hexadecimal
    seat                bigint NOT NULL CHECK (seat >= 0),
    overbook            boolean NOT NULL,
    overbook_reason     text NOT NULL,
    status              text NOT NULL CHECK (status IN ('confirmed', 'cancelled')),
    attendance          text NOT NULL CHECK (attendance IN ('expected', 'arrived', 'in_progress', 'completed', 'no_show')),
    slot_start          bigint NOT NULL,
    slot_end            bigint NOT NULL CHECK (slot_end > slot_start),
    busy_start          bigint NOT NULL CHECK (busy_start <= slot_start),
    busy_end            bigint NOT NULL CHECK (busy_end >= slot_end),
    patient_name        text NOT NULL,
    patient_email       text NOT NULL,
    patient_phone       text NOT NULL,
    patient_birth_date  text NOT NULL,
    notes               text NOT NULL,
    patient_search      text NOT NULL, -- name, address and digits of the phone number, folded; see appointment.go
    source              text NOT NULL CHECK (source IN ('web', 'agent', 'staff', 'api')),
    upstream_state      text NOT NULL CHECK (upstream_state IN ('none', 'pending', 'confirmed', 'failed', 'needs_review')),
    upstream_id         text NOT NULL,
    upstream_patient_id text NOT NULL,
    manage_epoch        bigint NOT NULL,
    created_at          bigint NOT NULL,
    updated_at          bigint NOT NULL,
    cancelled_at        bigint,
    cancel_reason       text NOT NULL,
    version             bigint NOT NULL CHECK (version >= 1),
    row_number          bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY, -- the order of their making, for Erase

    -- The engine's own net below the trigger: two bare slots of one specialist never overlap, unless they are of one group
    -- session. It knows nothing of buffers (one exclusion constraint cannot say that the larger of two counts).
    --
    -- The condition is written so that no query takes this index: while the table is small and nobody has analyzed it, the planner
    -- would prefer it for the trigger's search, and that plan then reads every appointment at every booking.
    CONSTRAINT appointments_exclude_overlap EXCLUDE USING gist (
        specialist_id WITH =,
        int8range(slot_start, slot_end) WITH &&,
        (appointment_type_id || ' ' || slot_start::text || ' ' || slot_end::text) WITH <>
    ) WHERE (status || '' = 'confirmed' AND NOT overbook)
);

-- One half of the guarantee, and the range the other half searches.
CREATE UNIQUE INDEX idx_no_double_book
    ON appointments (specialist_id, slot_start, seat)
    WHERE status = 'confirmed' AND NOT overbook;

CREATE INDEX idx_appointments_overbook
    ON appointments (specialist_id, slot_start, seat)
    WHERE status = 'confirmed' AND overbook;

CREATE INDEX idx_appointments_time ON appointments (slot_start, id);
CREATE INDEX idx_appointments_client ON appointments (client_id) WHERE client_id <> '';
CREATE INDEX idx_appointments_upstream ON appointments (upstream_state, slot_start) WHERE upstream_state <> 'none';
CREATE INDEX idx_appointments_row ON appointments (row_number);

-- The other half: two confirmed appointments of one specialist never overlap, buffers included. It holds whoever writes: the
-- lock on the specialist makes rivals wait until the first has committed or not, and under READ COMMITTED the statement
-- after it sees what was committed; any other level would look at an older moment, and is refused.
--
-- The slot_start range only narrows the search: a row outside it cannot meet the condition below it, because no busy time of
-- this specialist reaches that far.
CREATE FUNCTION appointments_guarantee() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    reach_before bigint;
    reach_after  bigint;
    seats        bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'appointments are written under READ COMMITTED, not %', current_setting('transaction_isolation')
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
    PERFORM pg_advisory_xact_lock(1215915620, hashtext(NEW.specialist_id));
    SELECT reach_before_ms, reach_after_ms INTO reach_before, reach_after FROM specialists WHERE id = NEW.specialist_id;

    IF NEW.status = 'confirmed' AND NOT NEW.overbook AND EXISTS (
        SELECT 1 FROM appointments AS a
        WHERE a.specialist_id=NEW.specialist_id AND a.status='confirmed' AND NOT a.overbook AND a.id<>NEW.id
          AND a.slot_start > NEW.busy_start - reach_after
          AND a.slot_start < NEW.busy_end + reach_before
          AND ((a.busy_start<NEW.slot_end AND NEW.slot_start<a.busy_end) OR (a.slot_start<NEW.busy_end AND NEW.busy_start<a.slot_end))
          AND NOT (a.appointment_type_id=NEW.appointment_type_id AND a.slot_start=NEW.slot_start AND a.slot_end=NEW.slot_end AND a.seat<>NEW.seat))
    THEN
        RAISE EXCEPTION 'slot_taken' USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'appointments_guarantee';
    END IF;

    -- A capacity lowered later leaves the appointments it stranded as they are: they may be cancelled or attended.
    IF NEW.seat > 0 AND (TG_OP = 'INSERT' OR NEW.status = 'confirmed'
        AND (NEW.seat <> OLD.seat OR NEW.status <> OLD.status OR NEW.appointment_type_id <> OLD.appointment_type_id
             OR NEW.specialist_id <> OLD.specialist_id OR NEW.slot_start <> OLD.slot_start))
    THEN
        SELECT capacity INTO seats FROM appointment_types WHERE id = NEW.appointment_type_id;
        IF NEW.seat >= seats THEN
            RAISE EXCEPTION 'seat_outside_capacity' USING ERRCODE = 'check_violation';
        END IF;
    END IF;

    IF NEW.slot_start - NEW.busy_start > reach_before OR NEW.busy_end - NEW.slot_start > reach_after THEN
        UPDATE specialists
        SET reach_before_ms = greatest(reach_before_ms, NEW.slot_start - NEW.busy_start),
            reach_after_ms = greatest(reach_after_ms, NEW.busy_end - NEW.slot_start)
        WHERE id = NEW.specialist_id;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER appointments_guarantee
BEFORE INSERT OR UPDATE ON appointments
FOR EACH ROW EXECUTE FUNCTION appointments_guarantee();

-- What commits together with an appointment --------------------------------------------------------------------------

CREATE TABLE idempotency_records (
    scope       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL CHECK (length(fingerprint) = 32),
    status      bigint NOT NULL,
    body        bytea NOT NULL,
    created_at  bigint NOT NULL,
    row_number  bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY, -- the order of their making, for Erase
    PRIMARY KEY (scope, key)
);

CREATE INDEX idx_idempotency_row ON idempotency_records (row_number);
CREATE INDEX idx_idempotency_created ON idempotency_records (created_at);

CREATE TABLE outbox (
    id              text COLLATE "C" NOT NULL PRIMARY KEY,
    kind            text NOT NULL,
    appointment_id  text COLLATE "C" NOT NULL,
    status          text NOT NULL,
    needs_review    boolean NOT NULL,
    unknown         boolean NOT NULL,
    attempts        bigint NOT NULL,
    lookups         bigint NOT NULL,
    max_attempts    bigint NOT NULL,
    created_at      bigint,
    next_attempt_at bigint,
    attempted_at    bigint,
    finished_at     bigint,
    deadline        bigint,
    start_time      bigint,
    last_error      text NOT NULL,
    result          text NOT NULL,
    payload         text
);

CREATE INDEX idx_outbox_appointment ON outbox (appointment_id) WHERE appointment_id <> '';

CREATE TABLE audit_entries (
    id      text COLLATE "C" NOT NULL,
    at      bigint NOT NULL,
    actor   text NOT NULL,
    action  text NOT NULL,
    subject text NOT NULL,
    reason  text NOT NULL,
    before  text,
    after   text,
    row_number bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY, -- the order of their making, for Erase
    PRIMARY KEY (at, id)
);

CREATE INDEX idx_audit_row ON audit_entries (row_number);
CREATE INDEX idx_audit_subject ON audit_entries (subject);

CREATE TABLE deliveries (
    operation_id   text COLLATE "C" NOT NULL PRIMARY KEY,
    appointment_id text COLLATE "C" NOT NULL,
    channel        text NOT NULL,
    notice         text NOT NULL,
    state          text NOT NULL,
    detail         text NOT NULL,
    updated_at     bigint NOT NULL
);

CREATE INDEX idx_deliveries_appointment ON deliveries (appointment_id);

CREATE TABLE nonce_uses (
    nonce          text COLLATE "C" NOT NULL PRIMARY KEY,
    patient_id     text COLLATE "C" NOT NULL,
    appointment_id text COLLATE "C" NOT NULL,
    expires_at     bigint NOT NULL
);

CREATE INDEX idx_nonce_appointment ON nonce_uses (appointment_id);
CREATE INDEX idx_nonce_expires ON nonce_uses (expires_at);

-- Bookings by the public that wait to be confirmed, each with the person until it is an appointment, lapses or is declined.
CREATE TABLE booking_requests (
    id                  text COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    appointment_type_id text COLLATE "C" NOT NULL REFERENCES appointment_types (id),
    specialist_id       text COLLATE "C" NOT NULL REFERENCES specialists (id),
    client_id           text COLLATE "C" NOT NULL,
    hold_owner          text NOT NULL,
    status              text NOT NULL CHECK (status IN ('open', 'declined')),
    slot_start          bigint NOT NULL,
    slot_end            bigint NOT NULL CHECK (slot_end > slot_start),
    patient_name        text NOT NULL,
    patient_email       text NOT NULL,
    patient_phone       text NOT NULL,
    patient_birth_date  text NOT NULL,
    notes               text NOT NULL,
    patient_search      text NOT NULL,
    created_at          bigint NOT NULL,
    expires_at          bigint NOT NULL
);

CREATE INDEX idx_booking_requests_expires ON booking_requests (expires_at);

-- How often something happened lately, such as bookings from one network. Keys are hashes of whom it is about.
CREATE TABLE tallies (
    key text COLLATE "C" NOT NULL,
    at  bigint NOT NULL,
    n   bigint NOT NULL CHECK (n > 0),
    PRIMARY KEY (key, at)
);

CREATE INDEX idx_tallies_at ON tallies (at);

-- Who may do what ----------------------------------------------------------------------------------------------------

CREATE TABLE api_keys (
    id            text COLLATE "C" NOT NULL PRIMARY KEY,
    name          text COLLATE "C" NOT NULL,
    scope         text COLLATE "C" NOT NULL CHECK (scope IN ('admin', 'agent', 'presence', 'metrics')),
    hash          bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    prefix        text NOT NULL,
    created_at    bigint NOT NULL,
    last_used_at  bigint,
    revoked_at    bigint,
    specialist_id text COLLATE "C" NOT NULL -- the only one that a presence key is for; empty: all
);

CREATE TABLE users (
    id              text COLLATE "C" NOT NULL PRIMARY KEY,
    email           text COLLATE "C" NOT NULL UNIQUE,
    name            text COLLATE "C" NOT NULL,
    role            text NOT NULL CHECK (role IN ('owner', 'reception', 'specialist')),
    specialist_id   text COLLATE "C" REFERENCES specialists (id),
    password_hash   text NOT NULL,
    totp_secret     bytea,
    totp_last_step  bigint NOT NULL,
    active          boolean NOT NULL,
    created_at      bigint NOT NULL,
    last_sign_in_at bigint
);

CREATE TABLE sign_ins (
    id           text COLLATE "C" NOT NULL PRIMARY KEY,
    hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    user_id      text COLLATE "C" NOT NULL REFERENCES users (id),
    created_at   bigint NOT NULL,
    last_seen_at bigint NOT NULL,
    expires_at   bigint NOT NULL,
    user_agent   text NOT NULL
);

CREATE INDEX idx_sign_ins_user ON sign_ins (user_id);

CREATE TABLE setup_token (
    id         bigint NOT NULL PRIMARY KEY CHECK (id = 1),
    hash       bytea NOT NULL CHECK (length(hash) = 32),
    expires_at bigint NOT NULL
);

-- On demand ----------------------------------------------------------------------------------------------------------

CREATE TABLE sessions (
    id            text COLLATE "C" NOT NULL PRIMARY KEY,
    client_id     text COLLATE "C" NOT NULL,
    specialist_id text COLLATE "C" REFERENCES specialists (id),
    status        text NOT NULL CHECK (status IN ('requested', 'active', 'pending_payment', 'ended', 'expired', 'cancelled')),
    outcome       text NOT NULL,
    requested_at  bigint NOT NULL,
    accepted_at   bigint,
    ended_at      bigint,
    expires_at    bigint,
    updated_at    bigint NOT NULL,
    version       bigint NOT NULL CHECK (version >= 1)
);

CREATE INDEX idx_sessions_requested ON sessions (requested_at);
CREATE INDEX idx_sessions_status ON sessions (status);
CREATE INDEX idx_sessions_client ON sessions (client_id) WHERE client_id <> '';

CREATE TABLE presence (
    specialist_id     text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES specialists (id),
    is_online         boolean NOT NULL,
    is_deactivated    boolean NOT NULL,
    last_online_at    bigint,
    last_offline_at   bigint,
    last_heartbeat_at bigint
);

CREATE TABLE presence_log (
    seq           bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at            bigint NOT NULL,
    specialist_id text COLLATE "C" NOT NULL REFERENCES specialists (id),
    change        text NOT NULL CHECK (change IN ('online', 'offline', 'auto_offline', 'deactivated', 'activated'))
);

CREATE INDEX idx_presence_log ON presence_log (specialist_id, at);

-- The feed ------------------------------------------------------------------------------------------------------------

-- Every committed change, numbered in commit order: whoever appends holds the lock of the one order, so a number is given and
-- committed before the next is given. Numbers may have gaps. Old rows go; the row changes_pruned of meta is the last that did.
CREATE TABLE changes (
    number       bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    committed_at bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    change       text NOT NULL -- JSON; see record.go
);
