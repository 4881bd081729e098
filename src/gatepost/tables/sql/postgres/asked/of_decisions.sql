SELECT k.decision, e.name
FROM asked k
JOIN entities e ON e.number = k.entity
WHERE k.decision = ANY (:decisions)
ORDER BY k.decision, k.entity
