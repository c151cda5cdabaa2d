-- Appointments that were booked with one form, such as six Tuesdays, have the same series. Empty: it stands alone.
ALTER TABLE appointments ADD COLUMN series_id text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX idx_appointments_series ON appointments (series_id) WHERE series_id <> '';
