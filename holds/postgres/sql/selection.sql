-- holds_selection_json returns a selection in the format that package node reads.
CREATE OR REPLACE FUNCTION holds_selection_json(x holds_selections) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object('owner', x.owner, 'appointmentTypeId', x.appointment_type_id, 'specialistId', x.specialist_id,
        'slotStart', x.slot_start, 'slotEnd', x.slot_end, 'busyStart', x.busy_start, 'busyEnd', x.busy_end) $$;

CREATE OR REPLACE FUNCTION holds_tell_selection(kind text, reason text, at bigint, x holds_selections) RETURNS void LANGUAGE sql VOLATILE AS $$
    SELECT pg_notify('holdfast_holds', json_build_object('kind', kind, 'reason', reason, 'at', at, 'owner', x.owner,
        'appointmentTypeId', x.appointment_type_id, 'specialistId', x.specialist_id, 'slotStart', x.slot_start, 'slotEnd', x.slot_end,
        'busyStart', x.busy_start, 'busyEnd', x.busy_end)::text) $$;

-- holds_select records that a client has selected a slot: see holds.Selections.Select.
CREATE OR REPLACE FUNCTION holds_select(own text, kind text, whom text, s bigint, e bigint, bs bigint, be bigint, ttl bigint,
    OUT selection json, OUT until bigint)
LANGUAGE plpgsql AS $$
DECLARE
    at bigint;
    x  holds_selections;
BEGIN
    PERFORM holds_lock(3, own);
    at := holds_clock();
    until := at + ttl;
    UPDATE holds_selections SET deadline = until WHERE owner = own AND deadline > at
        AND appointment_type_id = kind AND specialist_id = whom AND slot_start = s AND slot_end = e RETURNING * INTO x;
    IF FOUND THEN
        selection := holds_selection_json(x);
        RETURN;
    END IF;
    DELETE FROM holds_selections WHERE owner = own RETURNING * INTO x;
    IF FOUND THEN
        PERFORM holds_tell_selection('deselect', CASE WHEN x.deadline > at THEN 'released' ELSE 'expired' END, at, x);
    END IF;
    INSERT INTO holds_selections VALUES (own, kind, whom, s, e, bs, be, until) RETURNING * INTO x;
    PERFORM holds_tell_selection('select', '', at, x);
    selection := holds_selection_json(x);
END $$;

-- holds_deselect ends a client's selection and reports whether there was one.
CREATE OR REPLACE FUNCTION holds_deselect(own text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    at bigint;
    x  holds_selections;
BEGIN
    PERFORM holds_lock(3, own);
    at := holds_clock();
    DELETE FROM holds_selections WHERE owner = own RETURNING * INTO x;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM holds_tell_selection('deselect', CASE WHEN x.deadline > at THEN 'released' ELSE 'expired' END, at, x);
    RETURN x.deadline > at;
END $$;

-- holds_renew restarts the time to live of a client's selection and reports whether there was one.
CREATE OR REPLACE FUNCTION holds_renew(own text, ttl bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    at bigint;
BEGIN
    PERFORM holds_lock(3, own);
    at := holds_clock();
    UPDATE holds_selections SET deadline = at + ttl WHERE owner = own AND deadline > at;
    RETURN FOUND;
END $$;
