SELECT g.number, e.name, g.event_type
FROM gates g
JOIN entities e ON e.number = g.owner
WHERE g.ended_at IS NULL AND g.event_type IS NOT NULL
