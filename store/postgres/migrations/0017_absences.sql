-- An entry with an absence records what a displaced patient was asked: absence_id is the block of the absence, and displaced has the time
-- as booked and how the patient learns of it.
ALTER TABLE waitlist_entries ADD COLUMN absence_id text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE waitlist_entries ADD COLUMN displaced text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX idx_waitlist_absence ON waitlist_entries (absence_id) WHERE absence_id <> '';
