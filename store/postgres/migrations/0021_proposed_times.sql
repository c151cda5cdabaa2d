-- The time that a patient asked for, if the desk proposed another one, which is then in slot_start.
ALTER TABLE booking_requests ADD COLUMN wanted_start bigint;
