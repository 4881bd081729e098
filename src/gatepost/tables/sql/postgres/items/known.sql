-- Items of a recipient by their keys, or by the ids of their events.
SELECT i.dedup_key, e.id, i.arrival, i.state, i.expires_at
FROM items i
JOIN events e ON e.arrival = i.arrival
WHERE i.recipient = :recipient AND i.dedup_key = ANY (:keys)
UNION
SELECT i.dedup_key, e.id, i.arrival, i.state, i.expires_at
FROM events e
JOIN items i ON i.recipient = :recipient AND i.arrival = e.arrival
WHERE e.id = ANY (:events)
