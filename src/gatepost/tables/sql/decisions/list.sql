SELECT q.*
FROM questions q
JOIN decisions d ON d.number = q.number
JOIN gates g ON g.number = d.gate
WHERE d.number > :after
    AND (CAST(:asker AS BIGINT) IS NULL OR d.asker = CAST(:asker AS BIGINT))
    AND (CAST(:session AS TEXT) IS NULL OR d.session = CAST(:session AS TEXT))
    AND (CAST(:pending AS BOOLEAN) IS NULL OR (g.ended_at IS NULL) = CAST(:pending AS BOOLEAN))
    AND (
        CAST(:asked AS BIGINT) IS NULL
        OR EXISTS (SELECT 1 FROM asked k WHERE k.decision = d.number AND k.entity = CAST(:asked AS BIGINT))
    )
    AND (
        CAST(:concerned AS BIGINT) IS NULL
        OR d.asker = CAST(:concerned AS BIGINT)
        OR EXISTS (SELECT 1 FROM asked k WHERE k.decision = d.number AND k.entity = CAST(:concerned AS BIGINT))
    )
    AND (
        CAST(:since AS BIGINT) IS NULL
        OR EXISTS (
            SELECT 1 FROM answers n
            WHERE n.decision = d.number AND n.iteration = d.iteration AND n.answered_at >= CAST(:since AS BIGINT)
        )
    )
ORDER BY d.number
LIMIT :most
