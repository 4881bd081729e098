-- What waits for somebody from a source without a key, as what was replayed does.
SELECT e.id, e.data
FROM items i
JOIN events e ON e.arrival = i.arrival
WHERE i.recipient = :recipient AND i.state = 'pending' AND i.source = :source AND i.dedup_key IS NULL
ORDER BY i.arrival
