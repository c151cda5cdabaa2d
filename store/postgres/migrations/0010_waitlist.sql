-- Who waits for a time. wish is JSON that the program keeps whole (store.Packed).
CREATE TABLE waitlist_entries (
    id                  text COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    appointment_type_id text COLLATE "C" NOT NULL REFERENCES appointment_types (id),
    client_id           text COLLATE "C" NOT NULL,
    appointment_id      text COLLATE "C" NOT NULL,
    wish                text NOT NULL,
    status              text NOT NULL CHECK (status IN ('unconfirmed', 'waiting', 'booked', 'removed', 'lapsed')),
    patient_name        text NOT NULL,
    patient_email       text NOT NULL,
    patient_phone       text NOT NULL,
    patient_birth_date  text NOT NULL,
    notes               text NOT NULL,
    patient_search      text NOT NULL,
    intake              text NOT NULL,
    locale              text NOT NULL,
    created_at          bigint NOT NULL,
    ended_at            bigint CHECK ((ended_at IS NULL) = (status IN ('unconfirmed', 'waiting')))
);

CREATE INDEX idx_waitlist_live ON waitlist_entries (created_at, id) WHERE ended_at IS NULL;
CREATE INDEX idx_waitlist_ended ON waitlist_entries (ended_at, id) WHERE ended_at IS NOT NULL;

-- What was kept for them and offered. An entry has one open offer at most, and a seat is offered to one.
CREATE TABLE waitlist_offers (
    id                  text COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    entry_id            text COLLATE "C" NOT NULL REFERENCES waitlist_entries (id),
    appointment_type_id text COLLATE "C" NOT NULL REFERENCES appointment_types (id),
    specialist_id       text COLLATE "C" NOT NULL REFERENCES specialists (id),
    seat                integer NOT NULL CHECK (seat >= 0),
    hold_owner          text NOT NULL,
    status              text NOT NULL CHECK (status IN ('open', 'booked', 'declined', 'lapsed', 'withdrawn')),
    slot_start          bigint NOT NULL,
    slot_end            bigint NOT NULL CHECK (slot_end > slot_start),
    created_at          bigint NOT NULL,
    expires_at          bigint NOT NULL,
    ended_at            bigint CHECK ((ended_at IS NULL) = (status = 'open'))
);

CREATE INDEX idx_offer_entry ON waitlist_offers (entry_id);
CREATE UNIQUE INDEX idx_one_open_offer ON waitlist_offers (entry_id) WHERE status = 'open';
CREATE UNIQUE INDEX idx_offered_once ON waitlist_offers (specialist_id, slot_start, seat) WHERE status = 'open';
