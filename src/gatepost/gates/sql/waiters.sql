-- name: insert
INSERT INTO waiters (gate, entity) VALUES (:gate, :entity) ON CONFLICT (gate, entity) DO NOTHING

-- name: list_by_gates
SELECT w.gate, e.name
FROM waiters w
JOIN entities e ON e.number = w.entity
WHERE w.gate IN :gates[]
ORDER BY w.gate, w.entity
