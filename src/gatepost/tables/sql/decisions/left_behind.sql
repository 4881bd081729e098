-- Open decisions that cannot go on without somebody: who asked, or the last one there who could answer.
SELECT d.id
FROM decisions d
JOIN gates g ON g.number = d.gate
WHERE g.ended_at IS NULL
    AND (d.asker = :entity OR EXISTS (SELECT 1 FROM asked k WHERE k.decision = d.number AND k.entity = :entity))
    AND (
        d.asker = :entity
        OR NOT EXISTS (
            SELECT 1
            FROM asked k
            JOIN entities e ON e.number = k.entity
            WHERE k.decision = d.number AND e.retired_at IS NULL
        )
    )
ORDER BY d.number
