SELECT c.id, r.id, e.name, c.tool, c.arguments, c.status, c.result, c.created_at, c.expires_at, c.ended_at, r.number
FROM calls c
JOIN runs r ON r.number = c.run
JOIN entities e ON e.number = r.agent
WHERE c.run = :run
ORDER BY c.created_at, c.id
