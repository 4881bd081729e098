SELECT e.name, e.display, e.kind, m.joined_at, m.read_seq
FROM members m
JOIN entities e ON e.number = m.entity
WHERE m.space = :space AND e.retired_at IS NULL
ORDER BY m.entity
LIMIT :most
