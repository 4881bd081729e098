SELECT s.kind, s.body
FROM runs r
JOIN steps s ON s.run = r.number
WHERE r.agent = :agent AND r.number > :after AND r.number < :before AND r.status IN ('waiting_tool', 'completed')
ORDER BY s.run, s.number
