-- Text messages can be scheduled as emails can, so the index for the number of scheduled messages covers both.
DROP INDEX idx_operations_scheduled;
CREATE INDEX idx_operations_scheduled ON operations (next_attempt_at) WHERE status = 'pending' AND kind IN ('email', 'sms');
