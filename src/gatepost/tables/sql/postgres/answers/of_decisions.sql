SELECT n.decision, n.iteration, n.outcome, n.option, n.words, e.name, n.answered_at
FROM answers n
LEFT JOIN entities e ON e.number = n.answered_by
WHERE n.decision = ANY (:decisions)
ORDER BY n.decision, n.iteration
