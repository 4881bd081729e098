SELECT w.gate, e.name
FROM waiters w
JOIN entities e ON e.number = w.entity
WHERE w.gate = ANY (:gates)
ORDER BY w.gate, w.entity
