-- What the booking page says and asks. page and intake are JSON that the program keeps whole (store.Packed); empty: nothing.
ALTER TABLE appointment_types ADD COLUMN page text NOT NULL DEFAULT '';
ALTER TABLE specialists ADD COLUMN page text NOT NULL DEFAULT '';

CREATE TABLE specialist_pictures (
    specialist_id text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES specialists (id),
    content_type  text NOT NULL,
    digest        text NOT NULL,
    content       bytea NOT NULL CHECK (length(content) > 0)
);

-- Where a specialist works in that window, and where an appointment is: the id of one of the clinic's places; empty: it has no such.
ALTER TABLE weekly_hours ADD COLUMN place text NOT NULL DEFAULT '';
ALTER TABLE override_windows ADD COLUMN place text NOT NULL DEFAULT '';

-- What was said beside the name: consent and answers.
ALTER TABLE appointments ADD COLUMN place text NOT NULL DEFAULT '';
ALTER TABLE appointments ADD COLUMN intake text NOT NULL DEFAULT '';
ALTER TABLE booking_requests ADD COLUMN intake text NOT NULL DEFAULT '';
-- The desk decides about it: the link of its mail does not.
ALTER TABLE booking_requests ADD COLUMN approval boolean NOT NULL DEFAULT false;
