SELECT r.id
FROM runs r
JOIN entities e ON e.number = r.agent
WHERE r.status = 'running' AND e.retired_at IS NOT NULL
LIMIT :most
