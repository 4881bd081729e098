SELECT s.id, e.name, s.host, s.state, s.started_at, s.seen_at
FROM sessions s
JOIN entities e ON e.number = s.entity
WHERE s.id = :id
