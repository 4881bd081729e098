SELECT h.*, g.hops, g.hops_at
FROM gatehouse h
JOIN gates g ON g.number = h.number
WHERE g.number > :after
    AND (CAST(:owner AS BIGINT) IS NULL OR g.owner = CAST(:owner AS BIGINT))
    AND (CAST(:kind AS TEXT) IS NULL OR g.kind = CAST(:kind AS TEXT))
    AND (CAST(:pending AS BOOLEAN) IS NULL OR (g.ended_at IS NULL) = CAST(:pending AS BOOLEAN))
    AND (
        CAST(:waiter AS BIGINT) IS NULL
        OR EXISTS (SELECT 1 FROM waiters w WHERE w.gate = g.number AND w.entity = CAST(:waiter AS BIGINT))
    )
    AND (
        CAST(:concerned AS BIGINT) IS NULL
        OR CAST(:concerned AS BIGINT) IN (g.owner, g.made_by)
        OR (g.kind = 'human' AND g.awaited = CAST(:concerned AS BIGINT))
        OR EXISTS (SELECT 1 FROM entities e WHERE e.number = g.owner AND e.owner = CAST(:concerned AS BIGINT))
        OR EXISTS (SELECT 1 FROM waiters w WHERE w.gate = g.number AND w.entity = CAST(:concerned AS BIGINT))
    )
ORDER BY g.number
LIMIT :most
