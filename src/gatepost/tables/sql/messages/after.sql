-- The first after one number and before another.
SELECT m.id, m.seq, e.name, e.display, e.kind, m.content, m.data, m.created_at
FROM messages m
JOIN entities e ON e.number = m.sender
WHERE m.space = :space AND m.seq > :after AND m.seq < :before
ORDER BY m.seq
LIMIT :most
