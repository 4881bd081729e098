-- Claims that were held too long, or were taken in a future that the clock has left; a run's claim has no deadline.
WITH late AS MATERIALIZED (
    SELECT number
    FROM claims
    WHERE ended_at IS NULL AND (deadline <= :now OR (deadline IS NOT NULL AND taken_at > :future))
        AND (CAST(:recipient AS BIGINT) IS NULL OR recipient = CAST(:recipient AS BIGINT))
    ORDER BY number
    LIMIT :most
    FOR UPDATE SKIP LOCKED
)
UPDATE claims SET ended_at = :now, outcome = 'lapsed'
FROM late WHERE claims.number = late.number AND claims.ended_at IS NULL
RETURNING claims.number, (SELECT name FROM entities WHERE entities.number = claims.recipient)
