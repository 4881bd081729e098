SELECT e.name, m.joined_at, r.id
FROM members m
JOIN entities e ON e.number = m.entity
LEFT JOIN messages r ON r.space = m.space AND r.seq = m.read_seq
WHERE m.space = :space
ORDER BY m.joined_at, e.number
