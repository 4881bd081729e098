-- Claims that were held too long, or were taken in a future that the clock has left; a run's claim has no deadline.
UPDATE claims SET ended_at = :now, outcome = 'lapsed'
WHERE ended_at IS NULL AND number IN (
    SELECT number
    FROM claims INDEXED BY claims_open
    WHERE ended_at IS NULL AND (deadline <= :now OR (deadline IS NOT NULL AND taken_at > :future))
        AND (CAST(:recipient AS BIGINT) IS NULL OR recipient = CAST(:recipient AS BIGINT))
    ORDER BY number
    LIMIT :most
)
RETURNING number, (SELECT name FROM entities WHERE entities.number = claims.recipient)
