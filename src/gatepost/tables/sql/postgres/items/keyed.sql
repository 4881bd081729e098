SELECT i.recipient, e.id
FROM items i
JOIN events e ON e.arrival = i.arrival
WHERE i.recipient = ANY (:recipients) AND i.dedup_key = :dedup_key
