-- A presence key may be for one specialist alone; empty: for all of them.
ALTER TABLE api_keys ADD COLUMN specialist_id TEXT NOT NULL DEFAULT '';
