SELECT s.number, s.id, s.name, s.last_seq, s.created_at, s.archived_at
FROM members m
JOIN spaces s ON s.number = m.space
WHERE m.entity = :entity AND s.number > :after
ORDER BY s.number
LIMIT :most
