SELECT k.decision, e.name
FROM asked k
JOIN entities e ON e.number = k.entity
WHERE k.decision IN (SELECT value FROM json_each(:decisions))
ORDER BY k.decision, k.entity
