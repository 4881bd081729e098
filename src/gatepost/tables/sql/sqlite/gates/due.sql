SELECT id
FROM gates
WHERE ended_at IS NULL AND escalated_at IS NULL AND deadline <= :now
ORDER BY deadline, number
LIMIT :most
