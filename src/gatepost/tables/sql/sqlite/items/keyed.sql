SELECT i.recipient, e.id
FROM items i
JOIN events e ON e.arrival = i.arrival
WHERE i.recipient IN (SELECT value FROM json_each(:recipients)) AND i.dedup_key = :dedup_key
