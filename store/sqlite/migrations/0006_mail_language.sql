-- The language that a patient is written to: that of the page they booked on. Empty: the clinic's.
ALTER TABLE appointments ADD COLUMN locale TEXT NOT NULL DEFAULT '';
ALTER TABLE booking_requests ADD COLUMN locale TEXT NOT NULL DEFAULT '';
