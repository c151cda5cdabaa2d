-- What a patient says when they request a session: the type, the reason, a name and a number to call. The server clears the last three
-- when the session is over. declined lists the specialists who have declined the request, separated by spaces.
ALTER TABLE sessions ADD COLUMN appointment_type_id text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN reason text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN patient_name text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN patient_phone text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN declined text COLLATE "C" NOT NULL DEFAULT '';
