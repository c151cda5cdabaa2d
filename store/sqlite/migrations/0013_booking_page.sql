-- What the booking page says and asks. page and intake are JSON that the program keeps whole (store.Packed); empty: nothing.
ALTER TABLE appointment_types ADD COLUMN page TEXT NOT NULL DEFAULT '';
ALTER TABLE specialists ADD COLUMN page TEXT NOT NULL DEFAULT '';

CREATE TABLE specialist_pictures (
    specialist_id TEXT NOT NULL PRIMARY KEY REFERENCES specialists (id),
    content_type  TEXT NOT NULL,
    digest        TEXT NOT NULL,
    content       BLOB NOT NULL CHECK (length(content) > 0)
) STRICT;

-- Where a specialist works in that window, and where an appointment is: the id of one of the clinic's places; empty: it has no such.
ALTER TABLE weekly_hours ADD COLUMN place TEXT NOT NULL DEFAULT '';
ALTER TABLE override_windows ADD COLUMN place TEXT NOT NULL DEFAULT '';

-- What was said beside the name: consent and answers.
ALTER TABLE appointments ADD COLUMN place TEXT NOT NULL DEFAULT '';
ALTER TABLE appointments ADD COLUMN intake TEXT NOT NULL DEFAULT '';
ALTER TABLE booking_requests ADD COLUMN intake TEXT NOT NULL DEFAULT '';
-- The desk decides about it: the link of its mail does not.
ALTER TABLE booking_requests ADD COLUMN approval INTEGER NOT NULL DEFAULT 0 CHECK (approval IN (0, 1));
