-- Who a member of staff is to the clinic's identity provider: issuer, a blank, subject. Empty: nobody yet.
ALTER TABLE users ADD COLUMN identity TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX idx_users_identity ON users (identity) WHERE identity <> '';
