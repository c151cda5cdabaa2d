-- The order in which the operations of one appointment were promised: 1, 2, and so on. Rows of earlier versions have 0 and are ordered
-- by their ids. A trigger numbers the rows, so that a node of an earlier version, which does not know the column, keeps the order too.
ALTER TABLE deliveries ADD COLUMN sequence bigint NOT NULL DEFAULT 0;
ALTER TABLE deliveries ALTER COLUMN sequence SET DEFAULT -1;

CREATE FUNCTION deliveries_sequence() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT coalesce(max(sequence), 0) + 1 INTO NEW.sequence FROM deliveries WHERE appointment_id = NEW.appointment_id;
    RETURN NEW;
END $$;
CREATE TRIGGER deliveries_sequence BEFORE INSERT ON deliveries
    FOR EACH ROW WHEN (NEW.sequence < 0) EXECUTE FUNCTION deliveries_sequence();
