-- The first schema. Instants are INTEGER Unix milliseconds, local dates TEXT like 2026-11-23, times of day minutes
-- after midnight. NULL means "never" for an instant and "none" for a reference.

CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('database_id', lower(hex(randomblob(16))));

-- The schedule -------------------------------------------------------------------------------------------------------

CREATE TABLE clinic (
    id       INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    name     TEXT NOT NULL,
    timezone TEXT NOT NULL,
    locale   TEXT NOT NULL,
    phone    TEXT NOT NULL,
    email    TEXT NOT NULL,
    address  TEXT NOT NULL,
    website  TEXT NOT NULL,
    settings TEXT
) STRICT;

CREATE TABLE specialists (
    id                        TEXT    NOT NULL PRIMARY KEY,
    name                      TEXT    NOT NULL,
    timezone                  TEXT    NOT NULL,
    active                    INTEGER NOT NULL CHECK (active IN (0, 1)),
    email                     TEXT    NOT NULL,
    max_sessions              INTEGER NOT NULL CHECK (max_sessions >= 0),
    position                  INTEGER NOT NULL,
    upstream_schedule_view_id TEXT    NOT NULL,
    upstream_column_id        TEXT    NOT NULL,
    archived                  INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1)),
    -- How far the busy time of any appointment of this specialist ever reached before and after its slot's start.
    -- The guarantee and availability look no further than this, so it only ever grows.
    reach_before_ms           INTEGER NOT NULL DEFAULT 0,
    reach_after_ms            INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TRIGGER specialists_reach_grows
BEFORE UPDATE OF reach_before_ms, reach_after_ms ON specialists
WHEN NEW.reach_before_ms < OLD.reach_before_ms OR NEW.reach_after_ms < OLD.reach_after_ms
BEGIN
    SELECT RAISE(ABORT, 'reach_shrinks');
END;

CREATE TABLE appointment_types (
    id                    TEXT    NOT NULL PRIMARY KEY,
    name                  TEXT    NOT NULL,
    description           TEXT    NOT NULL,
    duration_minutes      INTEGER NOT NULL CHECK (duration_minutes BETWEEN 1 AND 1440),
    slot_step_minutes     INTEGER NOT NULL CHECK (slot_step_minutes BETWEEN 1 AND 1440),
    buffer_before_minutes INTEGER NOT NULL CHECK (buffer_before_minutes >= 0),
    buffer_after_minutes  INTEGER NOT NULL CHECK (buffer_after_minutes >= 0),
    min_notice_minutes    INTEGER NOT NULL CHECK (min_notice_minutes >= 0),
    horizon_days          INTEGER NOT NULL CHECK (horizon_days >= 0),
    cooldown_minutes      INTEGER NOT NULL CHECK (cooldown_minutes >= 0),
    capacity              INTEGER NOT NULL CHECK (capacity >= 1),
    largest_capacity      INTEGER NOT NULL CHECK (largest_capacity >= capacity), -- seats once sold stay valid
    hold_ttl_seconds      INTEGER NOT NULL CHECK (hold_ttl_seconds >= 0),
    max_hold_seconds      INTEGER NOT NULL CHECK (max_hold_seconds >= 0),
    hold_quota            INTEGER NOT NULL CHECK (hold_quota >= 0),
    active                INTEGER NOT NULL CHECK (active IN (0, 1)),
    position              INTEGER NOT NULL,
    upstream_type_id      TEXT    NOT NULL,
    archived              INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1))
) STRICT;

CREATE TABLE assignments (
    appointment_type_id TEXT    NOT NULL REFERENCES appointment_types (id),
    specialist_id       TEXT    NOT NULL REFERENCES specialists (id),
    priority            INTEGER NOT NULL,
    PRIMARY KEY (appointment_type_id, specialist_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_assignments_specialist ON assignments (specialist_id);

CREATE TABLE weekly_hours (
    specialist_id TEXT    NOT NULL REFERENCES specialists (id),
    weekday       INTEGER NOT NULL CHECK (weekday BETWEEN 1 AND 7), -- ISO 8601: Monday is 1
    start_minute  INTEGER NOT NULL CHECK (start_minute >= 0),
    end_minute    INTEGER NOT NULL CHECK (end_minute > start_minute AND end_minute <= 1440),
    PRIMARY KEY (specialist_id, weekday, start_minute)
) STRICT, WITHOUT ROWID;

CREATE TABLE overrides (
    id            TEXT    NOT NULL PRIMARY KEY,
    specialist_id TEXT    NOT NULL REFERENCES specialists (id),
    date          TEXT    NOT NULL CHECK (length(date) = 10),
    closed        INTEGER NOT NULL CHECK (closed IN (0, 1)),
    reason        TEXT    NOT NULL,
    UNIQUE (specialist_id, date)
) STRICT, WITHOUT ROWID;

CREATE TABLE override_windows (
    override_id  TEXT    NOT NULL REFERENCES overrides (id) ON UPDATE CASCADE ON DELETE CASCADE,
    start_minute INTEGER NOT NULL CHECK (start_minute >= 0),
    end_minute   INTEGER NOT NULL CHECK (end_minute > start_minute AND end_minute <= 1440),
    PRIMARY KEY (override_id, start_minute)
) STRICT, WITHOUT ROWID;

-- Appointments and the guarantee -------------------------------------------------------------------------------------

-- The CHECKs say OR where IN would be shorter: for IN, SQLite builds a table of the values at every INSERT, which was a
-- third of its cost.
CREATE TABLE appointments (
    id                  TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    appointment_type_id TEXT    NOT NULL REFERENCES appointment_types (id),
    specialist_id       TEXT    NOT NULL REFERENCES specialists (id),
    client_id           TEXT    NOT NULL,
    seat                INTEGER NOT NULL CHECK (seat >= 0),
    overbook            INTEGER NOT NULL CHECK (overbook = 0 OR overbook = 1),
    overbook_reason     TEXT    NOT NULL,
    status              TEXT    NOT NULL CHECK (status = 'confirmed' OR status = 'cancelled'),
    attendance          TEXT    NOT NULL CHECK (attendance = 'expected' OR attendance = 'arrived' OR attendance = 'in_progress'
                                                OR attendance = 'completed' OR attendance = 'no_show'),
    slot_start          INTEGER NOT NULL,
    slot_end            INTEGER NOT NULL CHECK (slot_end > slot_start),
    busy_start          INTEGER NOT NULL CHECK (busy_start <= slot_start),
    busy_end            INTEGER NOT NULL CHECK (busy_end >= slot_end),
    patient_name        TEXT    NOT NULL,
    patient_email       TEXT    NOT NULL,
    patient_phone       TEXT    NOT NULL,
    patient_birth_date  TEXT    NOT NULL,
    notes               TEXT    NOT NULL,
    patient_search      TEXT    NOT NULL, -- name, address and digits of the phone number, folded; see appointment.go
    source              TEXT    NOT NULL CHECK (source = 'web' OR source = 'agent' OR source = 'staff' OR source = 'api'),
    upstream_state      TEXT    NOT NULL CHECK (upstream_state = 'none' OR upstream_state = 'pending' OR upstream_state = 'confirmed'
                                                OR upstream_state = 'failed' OR upstream_state = 'needs_review'),
    upstream_id         TEXT    NOT NULL,
    upstream_patient_id TEXT    NOT NULL,
    manage_epoch        INTEGER NOT NULL,
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL,
    cancelled_at        INTEGER,
    cancel_reason       TEXT    NOT NULL,
    version             INTEGER NOT NULL CHECK (version >= 1)
) STRICT;

-- Half of the guarantee, and the range the other half searches.
CREATE UNIQUE INDEX idx_no_double_book
    ON appointments (specialist_id, slot_start, seat)
    WHERE status = 'confirmed' AND overbook = 0;

CREATE INDEX idx_appointments_overbook
    ON appointments (specialist_id, slot_start, seat)
    WHERE status = 'confirmed' AND overbook = 1;

CREATE INDEX idx_appointments_time ON appointments (slot_start);
CREATE INDEX idx_appointments_client ON appointments (client_id) WHERE client_id <> '';
CREATE INDEX idx_appointments_upstream ON appointments (upstream_state, slot_start) WHERE upstream_state <> 'none';

-- The other half: two confirmed appointments of one specialist never overlap, buffers included. The slot_start range
-- only narrows the search: a row outside it cannot meet the condition below it, because no busy time of this
-- specialist reaches that far. It must be ABORT: ROLLBACK would undo the neighbours in the same group commit.
CREATE TRIGGER appointments_guarantee_insert
BEFORE INSERT ON appointments
WHEN NEW.status = 'confirmed' AND NEW.overbook = 0
BEGIN
    SELECT RAISE(ABORT, 'slot_taken') WHERE EXISTS (
        SELECT 1 FROM appointments AS a
        WHERE a.specialist_id=NEW.specialist_id AND a.status='confirmed' AND a.overbook=0 AND a.id<>NEW.id
          AND a.slot_start > NEW.busy_start - COALESCE((SELECT reach_after_ms FROM specialists WHERE id=NEW.specialist_id), 4000000000000000)
          AND a.slot_start < NEW.busy_end + COALESCE((SELECT reach_before_ms FROM specialists WHERE id=NEW.specialist_id), 4000000000000000)
          AND ((a.busy_start<NEW.slot_end AND NEW.slot_start<a.busy_end) OR (a.slot_start<NEW.busy_end AND NEW.busy_start<a.slot_end))
          AND NOT (a.appointment_type_id=NEW.appointment_type_id AND a.slot_start=NEW.slot_start AND a.slot_end=NEW.slot_end AND a.seat<>NEW.seat));
END;

CREATE TRIGGER appointments_guarantee_update
BEFORE UPDATE ON appointments
WHEN NEW.status = 'confirmed' AND NEW.overbook = 0
BEGIN
    SELECT RAISE(ABORT, 'slot_taken') WHERE EXISTS (
        SELECT 1 FROM appointments AS a
        WHERE a.specialist_id=NEW.specialist_id AND a.status='confirmed' AND a.overbook=0 AND a.id<>NEW.id
          AND a.slot_start > NEW.busy_start - COALESCE((SELECT reach_after_ms FROM specialists WHERE id=NEW.specialist_id), 4000000000000000)
          AND a.slot_start < NEW.busy_end + COALESCE((SELECT reach_before_ms FROM specialists WHERE id=NEW.specialist_id), 4000000000000000)
          AND ((a.busy_start<NEW.slot_end AND NEW.slot_start<a.busy_end) OR (a.slot_start<NEW.busy_end AND NEW.busy_start<a.slot_end))
          AND NOT (a.appointment_type_id=NEW.appointment_type_id AND a.slot_start=NEW.slot_start AND a.slot_end=NEW.slot_end AND a.seat<>NEW.seat));
END;

CREATE TRIGGER appointments_seat_insert
BEFORE INSERT ON appointments
WHEN NEW.seat > 0
BEGIN
    SELECT RAISE(ABORT, 'seat_outside_capacity')
    WHERE NEW.seat >= (SELECT capacity FROM appointment_types WHERE id=NEW.appointment_type_id);
END;

-- A capacity lowered later leaves the appointments it stranded as they are: they may be cancelled or attended.
CREATE TRIGGER appointments_seat_update
BEFORE UPDATE ON appointments
WHEN NEW.seat > 0 AND NEW.status = 'confirmed'
 AND (NEW.seat <> OLD.seat OR NEW.status <> OLD.status OR NEW.appointment_type_id <> OLD.appointment_type_id
      OR NEW.specialist_id <> OLD.specialist_id OR NEW.slot_start <> OLD.slot_start)
BEGIN
    SELECT RAISE(ABORT, 'seat_outside_capacity')
    WHERE NEW.seat >= (SELECT capacity FROM appointment_types WHERE id=NEW.appointment_type_id);
END;

CREATE TRIGGER appointments_reach_insert
AFTER INSERT ON appointments
BEGIN
    UPDATE specialists
    SET reach_before_ms = max(reach_before_ms, NEW.slot_start - NEW.busy_start),
        reach_after_ms = max(reach_after_ms, NEW.busy_end - NEW.slot_start)
    WHERE id = NEW.specialist_id
      AND (reach_before_ms < NEW.slot_start - NEW.busy_start OR reach_after_ms < NEW.busy_end - NEW.slot_start);
END;

CREATE TRIGGER appointments_reach_update
AFTER UPDATE ON appointments
BEGIN
    UPDATE specialists
    SET reach_before_ms = max(reach_before_ms, NEW.slot_start - NEW.busy_start),
        reach_after_ms = max(reach_after_ms, NEW.busy_end - NEW.slot_start)
    WHERE id = NEW.specialist_id
      AND (reach_before_ms < NEW.slot_start - NEW.busy_start OR reach_after_ms < NEW.busy_end - NEW.slot_start);
END;

-- What commits together with an appointment --------------------------------------------------------------------------

CREATE TABLE idempotency_records (
    scope       TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL CHECK (length(fingerprint) = 32),
    status      INTEGER NOT NULL,
    body        BLOB    NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT;

CREATE INDEX idx_idempotency_created ON idempotency_records (created_at);

CREATE TABLE outbox (
    id              TEXT    NOT NULL PRIMARY KEY,
    kind            TEXT    NOT NULL,
    appointment_id  TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    needs_review    INTEGER NOT NULL CHECK (needs_review IN (0, 1)),
    unknown         INTEGER NOT NULL CHECK (unknown IN (0, 1)),
    attempts        INTEGER NOT NULL,
    lookups         INTEGER NOT NULL,
    max_attempts    INTEGER NOT NULL,
    created_at      INTEGER,
    next_attempt_at INTEGER,
    attempted_at    INTEGER,
    finished_at     INTEGER,
    deadline        INTEGER,
    start_time      INTEGER,
    last_error      TEXT    NOT NULL,
    result          TEXT    NOT NULL,
    payload         TEXT
) STRICT;

CREATE INDEX idx_outbox_appointment ON outbox (appointment_id) WHERE appointment_id <> '';

CREATE TABLE audit_entries (
    id      TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    actor   TEXT    NOT NULL,
    action  TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    reason  TEXT    NOT NULL,
    before  TEXT,
    after   TEXT,
    PRIMARY KEY (at, id)
) STRICT;

CREATE INDEX idx_audit_subject ON audit_entries (subject);

CREATE TABLE deliveries (
    operation_id   TEXT    NOT NULL PRIMARY KEY,
    appointment_id TEXT    NOT NULL,
    channel        TEXT    NOT NULL,
    notice         TEXT    NOT NULL,
    state          TEXT    NOT NULL,
    detail         TEXT    NOT NULL,
    updated_at     INTEGER NOT NULL
) STRICT;

CREATE INDEX idx_deliveries_appointment ON deliveries (appointment_id);

CREATE TABLE nonce_uses (
    nonce          TEXT    NOT NULL PRIMARY KEY,
    patient_id     TEXT    NOT NULL,
    appointment_id TEXT    NOT NULL,
    expires_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_nonce_appointment ON nonce_uses (appointment_id);
CREATE INDEX idx_nonce_expires ON nonce_uses (expires_at);

-- Who may do what ----------------------------------------------------------------------------------------------------

CREATE TABLE api_keys (
    id           TEXT    NOT NULL PRIMARY KEY,
    name         TEXT    NOT NULL,
    scope        TEXT    NOT NULL CHECK (scope IN ('admin', 'agent', 'presence')),
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    prefix       TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER
) STRICT;

CREATE TABLE users (
    id              TEXT    NOT NULL PRIMARY KEY,
    email           TEXT    NOT NULL UNIQUE,
    name            TEXT    NOT NULL,
    role            TEXT    NOT NULL CHECK (role IN ('owner', 'reception', 'specialist')),
    specialist_id   TEXT             REFERENCES specialists (id),
    password_hash   TEXT    NOT NULL,
    totp_secret     BLOB,
    totp_last_step  INTEGER NOT NULL,
    active          INTEGER NOT NULL CHECK (active IN (0, 1)),
    created_at      INTEGER NOT NULL,
    last_sign_in_at INTEGER
) STRICT;

CREATE TABLE sign_ins (
    id           TEXT    NOT NULL PRIMARY KEY,
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    user_id      TEXT    NOT NULL REFERENCES users (id),
    created_at   INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    user_agent   TEXT    NOT NULL
) STRICT;

CREATE INDEX idx_sign_ins_user ON sign_ins (user_id);

CREATE TABLE setup_token (
    id         INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    hash       BLOB    NOT NULL CHECK (length(hash) = 32),
    expires_at INTEGER NOT NULL
) STRICT;

-- On demand ----------------------------------------------------------------------------------------------------------

CREATE TABLE sessions (
    id            TEXT    NOT NULL PRIMARY KEY,
    client_id     TEXT    NOT NULL,
    specialist_id TEXT             REFERENCES specialists (id),
    status        TEXT    NOT NULL CHECK (status IN ('requested', 'active', 'pending_payment', 'ended', 'expired', 'cancelled')),
    outcome       TEXT    NOT NULL,
    requested_at  INTEGER NOT NULL,
    accepted_at   INTEGER,
    ended_at      INTEGER,
    expires_at    INTEGER,
    updated_at    INTEGER NOT NULL,
    version       INTEGER NOT NULL CHECK (version >= 1)
) STRICT;

CREATE INDEX idx_sessions_requested ON sessions (requested_at);
CREATE INDEX idx_sessions_status ON sessions (status);
CREATE INDEX idx_sessions_client ON sessions (client_id) WHERE client_id <> '';

CREATE TABLE presence (
    specialist_id     TEXT    NOT NULL PRIMARY KEY REFERENCES specialists (id),
    is_online         INTEGER NOT NULL CHECK (is_online IN (0, 1)),
    is_deactivated    INTEGER NOT NULL CHECK (is_deactivated IN (0, 1)),
    last_online_at    INTEGER,
    last_offline_at   INTEGER,
    last_heartbeat_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE presence_log (
    seq           INTEGER NOT NULL PRIMARY KEY,
    at            INTEGER NOT NULL,
    specialist_id TEXT    NOT NULL REFERENCES specialists (id),
    change        TEXT    NOT NULL CHECK (change IN ('online', 'offline', 'auto_offline', 'deactivated', 'activated'))
) STRICT;

CREATE INDEX idx_presence_log ON presence_log (specialist_id, at);
