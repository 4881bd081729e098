-- The last before a number, backwards: as much of them as an agent is told.
SELECT m.id, e.display, e.kind, m.content, m.created_at
FROM messages m
JOIN entities e ON e.number = m.sender
WHERE m.space = :space AND m.seq < :before
ORDER BY m.seq DESC
LIMIT :most
