INSERT INTO items
    (recipient, arrival, dedup_key, priority, sender_is_person, source, expires_at, wakes, state, attempts, size)
SELECT
    :recipient, b.arrival, b.dedup_key, b.priority, b.sender_is_person, b.source, b.expires_at, b.wakes, 'pending', 0, b.size
FROM broadcasts b
WHERE b.number > :cursor
    AND b.number <= :last
    AND (b.sender IS NULL OR b.sender <> :recipient)
    AND (b.expires_at IS NULL OR b.expires_at > :now)
ORDER BY b.number
ON CONFLICT DO NOTHING
