-- Bookings by the public that wait to be confirmed, each with the person until it is an appointment, lapses or is declined.

CREATE TABLE booking_requests (
    id                  TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    appointment_type_id TEXT    NOT NULL REFERENCES appointment_types (id),
    specialist_id       TEXT    NOT NULL REFERENCES specialists (id),
    client_id           TEXT    NOT NULL,
    hold_owner          TEXT    NOT NULL,
    status              TEXT    NOT NULL CHECK (status IN ('open', 'declined')),
    slot_start          INTEGER NOT NULL,
    slot_end            INTEGER NOT NULL CHECK (slot_end > slot_start),
    patient_name        TEXT    NOT NULL,
    patient_email       TEXT    NOT NULL,
    patient_phone       TEXT    NOT NULL,
    patient_birth_date  TEXT    NOT NULL,
    notes               TEXT    NOT NULL,
    patient_search      TEXT    NOT NULL,
    created_at          INTEGER NOT NULL,
    expires_at          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_booking_requests_expires ON booking_requests (expires_at);

-- How often something happened lately, such as bookings from one network. Keys are hashes of whom it is about.

CREATE TABLE tallies (
    key TEXT    NOT NULL,
    at  INTEGER NOT NULL,
    n   INTEGER NOT NULL CHECK (n > 0),
    PRIMARY KEY (key, at)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_tallies_at ON tallies (at);
