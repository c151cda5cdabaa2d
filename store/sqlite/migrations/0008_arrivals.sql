-- When a patient arrived, for the waiting time. NULL: not yet, or nobody said so.
ALTER TABLE appointments ADD COLUMN arrived_at INTEGER;
