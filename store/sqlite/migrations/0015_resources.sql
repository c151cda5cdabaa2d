-- A specialist may be a resource: a room or a device that appointments need besides somebody's time, and that nobody books by itself.
-- Empty: a person.
ALTER TABLE specialists ADD COLUMN kind TEXT NOT NULL DEFAULT '' CHECK (kind = '' OR kind = 'resource');

-- Groups of resources of which an appointment takes one each: JSON that the program keeps whole; empty: none.
ALTER TABLE appointment_types ADD COLUMN needs TEXT NOT NULL DEFAULT '';

-- The resources that it takes: a JSON list of their ids, in the order of the groups; empty: none.
ALTER TABLE appointments ADD COLUMN resources TEXT NOT NULL DEFAULT '';

-- The time that confirmed appointments take of resources. The triggers below make it from the appointments, whoever writes these;
-- nobody else writes it, and no copy has to carry it.
CREATE TABLE appointment_resources (
    resource_id    TEXT    NOT NULL REFERENCES specialists (id),
    slot_start     INTEGER NOT NULL,
    slot_end       INTEGER NOT NULL,
    busy_start     INTEGER NOT NULL,
    busy_end       INTEGER NOT NULL,
    appointment_id TEXT    NOT NULL REFERENCES appointments (id) ON DELETE CASCADE,
    PRIMARY KEY (resource_id, slot_start)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_appointment_resources_appointment ON appointment_resources (appointment_id);

-- The guarantee for resources: no two rows of one resource overlap, buffers included. Nobody shares a resource.
CREATE TRIGGER appointment_resources_guarantee
BEFORE INSERT ON appointment_resources
BEGIN
    SELECT RAISE(ABORT, 'not_a_resource')
    WHERE NOT EXISTS (SELECT 1 FROM specialists WHERE id = NEW.resource_id AND kind = 'resource');
    SELECT RAISE(ABORT, 'slot_taken') WHERE EXISTS (
        SELECT 1 FROM appointment_resources AS a
        WHERE a.resource_id=NEW.resource_id
          AND a.slot_start > NEW.busy_start - (SELECT reach_after_ms FROM specialists WHERE id=NEW.resource_id)
          AND a.slot_start < NEW.busy_end + (SELECT reach_before_ms FROM specialists WHERE id=NEW.resource_id)
          AND ((a.busy_start<NEW.slot_end AND NEW.slot_start<a.busy_end) OR (a.slot_start<NEW.busy_end AND NEW.busy_start<a.slot_end)));
    UPDATE specialists
    SET reach_before_ms = max(reach_before_ms, NEW.slot_start - NEW.busy_start),
        reach_after_ms = max(reach_after_ms, NEW.busy_end - NEW.slot_start)
    WHERE id = NEW.resource_id
      AND (reach_before_ms < NEW.slot_start - NEW.busy_start OR reach_after_ms < NEW.busy_end - NEW.slot_start);
END;

-- What is inserted is never changed: an appointment that moves gives its rows up and takes new ones.
CREATE TRIGGER appointment_resources_stay
BEFORE UPDATE ON appointment_resources
BEGIN
    SELECT RAISE(ABORT, 'resources_stay');
END;

CREATE TRIGGER appointments_resources_insert
AFTER INSERT ON appointments
WHEN NEW.resources <> '' AND NEW.status = 'confirmed'
BEGIN
    INSERT INTO appointment_resources (resource_id, slot_start, slot_end, busy_start, busy_end, appointment_id)
    SELECT value, NEW.slot_start, NEW.slot_end, NEW.busy_start, NEW.busy_end, NEW.id FROM json_each(NEW.resources);
END;

CREATE TRIGGER appointments_resources_update
AFTER UPDATE ON appointments
WHEN (OLD.resources <> '' OR NEW.resources <> '')
 AND (NEW.resources <> OLD.resources OR NEW.status <> OLD.status OR NEW.slot_start <> OLD.slot_start OR NEW.slot_end <> OLD.slot_end
      OR NEW.busy_start <> OLD.busy_start OR NEW.busy_end <> OLD.busy_end)
BEGIN
    DELETE FROM appointment_resources WHERE appointment_id = OLD.id;
    INSERT INTO appointment_resources (resource_id, slot_start, slot_end, busy_start, busy_end, appointment_id)
    SELECT value, NEW.slot_start, NEW.slot_end, NEW.busy_start, NEW.busy_end, NEW.id FROM json_each(NEW.resources)
    WHERE NEW.resources <> '' AND NEW.status = 'confirmed';
END;

-- A resource is taken and never booked, so the two halves of the guarantee cannot meet; and what it is does not change.
CREATE TRIGGER appointments_of_persons_insert
BEFORE INSERT ON appointments
BEGIN
    SELECT RAISE(ABORT, 'a_resource_is_not_booked')
    WHERE EXISTS (SELECT 1 FROM specialists WHERE id = NEW.specialist_id AND kind <> '');
END;

CREATE TRIGGER appointments_of_persons_update
BEFORE UPDATE ON appointments
WHEN NEW.specialist_id <> OLD.specialist_id
BEGIN
    SELECT RAISE(ABORT, 'a_resource_is_not_booked')
    WHERE EXISTS (SELECT 1 FROM specialists WHERE id = NEW.specialist_id AND kind <> '');
END;

CREATE TRIGGER specialists_kind_stays
BEFORE UPDATE ON specialists
WHEN NEW.kind <> OLD.kind
BEGIN
    SELECT RAISE(ABORT, 'kind_stays');
END;
