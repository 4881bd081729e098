-- name: insert
INSERT INTO respondents (decision, entity) VALUES (:decision, :entity) ON CONFLICT (decision, entity) DO NOTHING

-- name: delete
DELETE FROM respondents WHERE decision = :decision AND entity IN :entities[]

-- name: list_by_decisions
SELECT k.decision, e.name
FROM respondents k
JOIN entities e ON e.number = k.entity
WHERE k.decision IN :decisions[]
ORDER BY k.decision, k.entity
