-- Who waits for a time. wish is JSON that the program keeps whole (store.Packed).
CREATE TABLE waitlist_entries (
    id                  TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    appointment_type_id TEXT    NOT NULL REFERENCES appointment_types (id),
    client_id           TEXT    NOT NULL,
    appointment_id      TEXT    NOT NULL,
    wish                TEXT    NOT NULL,
    status              TEXT    NOT NULL CHECK (status IN ('unconfirmed', 'waiting', 'booked', 'removed', 'lapsed')),
    patient_name        TEXT    NOT NULL,
    patient_email       TEXT    NOT NULL,
    patient_phone       TEXT    NOT NULL,
    patient_birth_date  TEXT    NOT NULL,
    notes               TEXT    NOT NULL,
    patient_search      TEXT    NOT NULL,
    intake              TEXT    NOT NULL,
    locale              TEXT    NOT NULL,
    created_at          INTEGER NOT NULL,
    ended_at            INTEGER CHECK ((ended_at IS NULL) = (status IN ('unconfirmed', 'waiting')))
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_waitlist_live ON waitlist_entries (created_at, id) WHERE ended_at IS NULL;
CREATE INDEX idx_waitlist_ended ON waitlist_entries (ended_at, id) WHERE ended_at IS NOT NULL;

-- What was kept for them and offered. An entry has one open offer at most, and a seat is offered to one.
CREATE TABLE waitlist_offers (
    id                  TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    entry_id            TEXT    NOT NULL REFERENCES waitlist_entries (id),
    appointment_type_id TEXT    NOT NULL REFERENCES appointment_types (id),
    specialist_id       TEXT    NOT NULL REFERENCES specialists (id),
    seat                INTEGER NOT NULL CHECK (seat >= 0),
    hold_owner          TEXT    NOT NULL,
    status              TEXT    NOT NULL CHECK (status IN ('open', 'booked', 'declined', 'lapsed', 'withdrawn')),
    slot_start          INTEGER NOT NULL,
    slot_end            INTEGER NOT NULL CHECK (slot_end > slot_start),
    created_at          INTEGER NOT NULL,
    expires_at          INTEGER NOT NULL,
    ended_at            INTEGER CHECK ((ended_at IS NULL) = (status = 'open'))
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_offer_entry ON waitlist_offers (entry_id);
CREATE UNIQUE INDEX idx_one_open_offer ON waitlist_offers (entry_id) WHERE status = 'open';
CREATE UNIQUE INDEX idx_offered_once ON waitlist_offers (specialist_id, slot_start, seat) WHERE status = 'open';
