-- Whose run is open and nobody is at work on it.
SELECT e.number, e.name
FROM runs r
JOIN entities e ON e.number = r.agent
WHERE r.status = 'running' AND r.agent > :after
    AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = 'agent:' || e.name AND l.deadline > :now)
ORDER BY r.agent
LIMIT :most
