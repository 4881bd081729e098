SELECT b.number, e.id
FROM broadcasts b
JOIN events e ON e.arrival = b.arrival
WHERE b.dedup_key = :dedup_key
