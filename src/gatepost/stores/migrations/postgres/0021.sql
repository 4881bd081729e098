-- oldest: 21

-- How a guest session is woken, and what shows that it can be (`guests/reachability.py`). A process is written as its
-- machine, its id and its start.
ALTER TABLE sessions ADD COLUMN program text;
ALTER TABLE sessions ADD COLUMN wake_method text;
ALTER TABLE sessions ADD COLUMN waker text;
ALTER TABLE sessions ADD COLUMN armed_at bigint;
ALTER TABLE sessions ADD COLUMN checked_at bigint;
ALTER TABLE sessions ADD COLUMN woken_at bigint;
ALTER TABLE sessions ADD COLUMN proved_at bigint;
ALTER TABLE sessions ADD COLUMN latency bigint;
CREATE INDEX sessions_recent ON sessions (entity, seen_at);
