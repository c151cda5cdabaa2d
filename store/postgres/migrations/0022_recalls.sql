-- When the server reminds a patient of the next visit. NULL: never.
ALTER TABLE appointments ADD COLUMN recall_at bigint;
CREATE INDEX idx_appointments_recall ON appointments (recall_at) WHERE recall_at IS NOT NULL;
