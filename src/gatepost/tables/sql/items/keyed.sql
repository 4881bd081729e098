SELECT e.id
FROM items i
JOIN events e ON e.arrival = i.arrival
WHERE i.recipient = :recipient AND i.dedup_key = :dedup_key
