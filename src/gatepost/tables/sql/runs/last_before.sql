-- The last run of an agent that started before an instant. Runs are numbered as they start, so the newest are looked at
-- first, by the index, and no older ones than this.
SELECT number, ended_at
FROM runs
WHERE agent = :agent AND started_at < :since
ORDER BY number DESC
LIMIT 1
