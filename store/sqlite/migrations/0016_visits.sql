-- Appointments of several people one after the other, such as a parent and two children, have the same visit. Empty: it is of none.
ALTER TABLE appointments ADD COLUMN visit_id TEXT NOT NULL DEFAULT '';
CREATE INDEX idx_appointments_visit ON appointments (visit_id) WHERE visit_id <> '';
