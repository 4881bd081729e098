SELECT * FROM (
    SELECT * FROM inbox WHERE recipient = :recipient AND state = 'pending'
    UNION ALL
    SELECT * FROM outbox WHERE recipient = :recipient
) AS waiting
WHERE (expires_at IS NULL OR expires_at > :now) AND (CAST(:type AS TEXT) IS NULL OR type = CAST(:type AS TEXT))
ORDER BY priority, arrival
LIMIT :most
