SELECT count(*)
FROM broadcasts b
JOIN events e ON e.arrival = b.arrival
WHERE b.sender = :sender AND e.created_at > :since
