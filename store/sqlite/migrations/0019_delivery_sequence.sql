-- The order in which the operations of one appointment were promised: 1, 2, and so on. Rows of earlier versions have 0 and are ordered
-- by their ids.
ALTER TABLE deliveries ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;
