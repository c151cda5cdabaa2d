-- From here on client_id holds the owner: the first 16 bytes of the SHA-256 of the client's secret, in hexadecimal. SQLite
-- has no such function, so owner.go rewrites the rows in the same transaction. What staff booked had a client that was made
-- up for it; it is nobody's.
UPDATE appointments SET client_id = '' WHERE source = 'staff' AND client_id LIKE 'staff-%';
