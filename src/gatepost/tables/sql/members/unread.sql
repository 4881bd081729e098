SELECT s.id, s.last_seq - m.read_seq
FROM members m
JOIN spaces s ON s.number = m.space
WHERE m.entity = :entity
ORDER BY s.number
