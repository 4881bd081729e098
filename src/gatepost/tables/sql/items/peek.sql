-- After the item of a priority and an arrival. Every priority is over -1; naming one makes SQLite go by the index of what
-- is pending, however much was delivered.
SELECT * FROM inbox
WHERE recipient = :recipient AND state = 'pending' AND priority >= :priority AND (priority > :priority OR arrival > :arrival)
    AND (expires_at IS NULL OR expires_at > :now) AND (CAST(:type AS TEXT) IS NULL OR type = CAST(:type AS TEXT))
UNION ALL
SELECT * FROM outbox
WHERE recipient = :recipient AND priority >= :priority AND (priority > :priority OR arrival > :arrival)
    AND (expires_at IS NULL OR expires_at > :now) AND (CAST(:type AS TEXT) IS NULL OR type = CAST(:type AS TEXT))
ORDER BY priority, arrival
LIMIT :most
