-- A specialist may be a resource: a room or a device that appointments need besides somebody's time, and that nobody books by itself.
-- Empty: a person.
ALTER TABLE specialists ADD COLUMN kind text NOT NULL DEFAULT '' CHECK (kind IN ('', 'resource'));

-- Groups of resources of which an appointment takes one each: JSON that the program keeps whole; empty: none.
ALTER TABLE appointment_types ADD COLUMN needs text NOT NULL DEFAULT '';

-- The resources that it takes: a JSON list of their ids, in the order of the groups; empty: none.
ALTER TABLE appointments ADD COLUMN resources text NOT NULL DEFAULT '';

-- The time that confirmed appointments take of resources. The trigger below makes it from the appointments, whoever writes these;
-- nobody else writes it, and no copy has to carry it.
CREATE TABLE appointment_resources (
    resource_id    text COLLATE "C" NOT NULL REFERENCES specialists (id),
    slot_start     bigint NOT NULL,
    slot_end       bigint NOT NULL,
    busy_start     bigint NOT NULL,
    busy_end       bigint NOT NULL,
    appointment_id text COLLATE "C" NOT NULL REFERENCES appointments (id) ON DELETE CASCADE,
    PRIMARY KEY (resource_id, slot_start),
    -- The engine's own net: the bare slots, as appointments_exclude_overlap.
    CONSTRAINT appointment_resources_exclude_overlap EXCLUDE USING gist (resource_id WITH =, int8range(slot_start, slot_end) WITH &&)
);
CREATE INDEX idx_appointment_resources_appointment ON appointment_resources (appointment_id);

-- The guarantee for resources: no two rows of one resource overlap, buffers included. Nobody shares a resource. The lock is that of
-- appointments_guarantee, and the level was asserted there. What is inserted is never changed: an appointment that moves gives its
-- rows up and takes new ones.
CREATE FUNCTION appointment_resources_guarantee() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    reach_before bigint;
    reach_after  bigint;
    what         text;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        RAISE EXCEPTION 'resources_stay' USING ERRCODE = 'check_violation';
    END IF;
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'appointments are written under READ COMMITTED, not %', current_setting('transaction_isolation')
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
    PERFORM pg_advisory_xact_lock(1215915620, hashtext(NEW.resource_id));
    SELECT kind, reach_before_ms, reach_after_ms INTO what, reach_before, reach_after FROM specialists WHERE id = NEW.resource_id;
    IF what IS DISTINCT FROM 'resource' THEN
        RAISE EXCEPTION 'not_a_resource' USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (
        SELECT 1 FROM appointment_resources AS a
        WHERE a.resource_id=NEW.resource_id
          AND a.slot_start > NEW.busy_start - reach_after
          AND a.slot_start < NEW.busy_end + reach_before
          AND ((a.busy_start<NEW.slot_end AND NEW.slot_start<a.busy_end) OR (a.slot_start<NEW.busy_end AND NEW.busy_start<a.slot_end)))
    THEN
        RAISE EXCEPTION 'slot_taken' USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'appointment_resources_guarantee';
    END IF;
    IF NEW.slot_start - NEW.busy_start > reach_before OR NEW.busy_end - NEW.slot_start > reach_after THEN
        UPDATE specialists
        SET reach_before_ms = greatest(reach_before_ms, NEW.slot_start - NEW.busy_start),
            reach_after_ms = greatest(reach_after_ms, NEW.busy_end - NEW.slot_start)
        WHERE id = NEW.resource_id;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER appointment_resources_guarantee
BEFORE INSERT OR UPDATE ON appointment_resources
FOR EACH ROW EXECUTE FUNCTION appointment_resources_guarantee();

-- In the order of the ids, so that of two appointments each with two resources neither waits for the other.
CREATE FUNCTION appointments_resources() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM appointment_resources WHERE appointment_id = OLD.id;
    END IF;
    IF NEW.resources <> '' AND NEW.status = 'confirmed' THEN
        INSERT INTO appointment_resources (resource_id, slot_start, slot_end, busy_start, busy_end, appointment_id)
        SELECT id, NEW.slot_start, NEW.slot_end, NEW.busy_start, NEW.busy_end, NEW.id
        FROM json_array_elements_text(NEW.resources::json) AS of(id) ORDER BY id COLLATE "C";
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER appointments_resources_insert
AFTER INSERT ON appointments
FOR EACH ROW WHEN (NEW.resources <> '' AND NEW.status = 'confirmed')
EXECUTE FUNCTION appointments_resources();

CREATE TRIGGER appointments_resources_update
AFTER UPDATE ON appointments
FOR EACH ROW WHEN ((OLD.resources <> '' OR NEW.resources <> '')
    AND (NEW.resources <> OLD.resources OR NEW.status <> OLD.status OR NEW.slot_start <> OLD.slot_start OR NEW.slot_end <> OLD.slot_end
         OR NEW.busy_start <> OLD.busy_start OR NEW.busy_end <> OLD.busy_end))
EXECUTE FUNCTION appointments_resources();

-- A resource is taken and never booked, so the two halves of the guarantee cannot meet; and what it is does not change.
CREATE FUNCTION appointments_of_persons() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM specialists WHERE id = NEW.specialist_id AND kind <> '') THEN
        RAISE EXCEPTION 'a_resource_is_not_booked' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER appointments_of_persons_insert
BEFORE INSERT ON appointments
FOR EACH ROW EXECUTE FUNCTION appointments_of_persons();

CREATE TRIGGER appointments_of_persons_update
BEFORE UPDATE ON appointments
FOR EACH ROW WHEN (NEW.specialist_id <> OLD.specialist_id)
EXECUTE FUNCTION appointments_of_persons();

CREATE FUNCTION kind_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'kind_stays' USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER specialists_kind_stays
BEFORE UPDATE OF kind ON specialists
FOR EACH ROW WHEN (NEW.kind <> OLD.kind)
EXECUTE FUNCTION kind_stays();
