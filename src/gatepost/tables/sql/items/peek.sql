-- Every priority is over -1; saying so makes SQLite go by the index of what is pending, however much was delivered.
SELECT * FROM (
    SELECT * FROM inbox WHERE recipient = :recipient AND state = 'pending' AND priority > -1
    UNION ALL
    SELECT * FROM outbox WHERE recipient = :recipient
) AS waiting
WHERE (expires_at IS NULL OR expires_at > :now) AND (CAST(:type AS TEXT) IS NULL OR type = CAST(:type AS TEXT))
ORDER BY priority, arrival
LIMIT :most
