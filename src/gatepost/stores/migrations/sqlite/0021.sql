-- oldest: 21

-- How a guest session is woken, and what shows that it can be (`guests/reachability.py`). A process is written as its
-- machine, its id and its start.
ALTER TABLE sessions ADD COLUMN program TEXT;
ALTER TABLE sessions ADD COLUMN wake_method TEXT;
ALTER TABLE sessions ADD COLUMN waker TEXT;
ALTER TABLE sessions ADD COLUMN armed_at INTEGER;
ALTER TABLE sessions ADD COLUMN checked_at INTEGER;
ALTER TABLE sessions ADD COLUMN woken_at INTEGER;
ALTER TABLE sessions ADD COLUMN proved_at INTEGER;
ALTER TABLE sessions ADD COLUMN latency INTEGER;
CREATE INDEX sessions_recent ON sessions (entity, seen_at);
