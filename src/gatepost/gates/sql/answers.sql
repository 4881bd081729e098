-- name: insert
INSERT INTO answers (decision, iteration, outcome, option, text, args, answered_by, answered_at)
VALUES (:decision, :iteration, :outcome, :option, :text, :args, :answered_by, :now)
ON CONFLICT (decision, iteration) DO NOTHING

-- name: list_by_decisions
SELECT n.decision, n.iteration, n.outcome, n.option, n.text, n.args, e.name AS "by", n.answered_at AS at
FROM answers n
LEFT JOIN entities e ON e.number = n.answered_by
WHERE n.decision IN :decisions[]
ORDER BY n.decision, n.iteration
