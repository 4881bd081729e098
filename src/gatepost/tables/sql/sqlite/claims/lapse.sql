-- Drains that took too long; a run's claim has no deadline.
UPDATE claims SET ended_at = :now, outcome = 'lapsed'
WHERE ended_at IS NULL AND number IN (
    SELECT number
    FROM claims INDEXED BY claims_open
    WHERE ended_at IS NULL AND deadline <= :now
        AND (CAST(:recipient AS BIGINT) IS NULL OR recipient = CAST(:recipient AS BIGINT))
    ORDER BY number
    LIMIT :most
)
RETURNING number, (SELECT name FROM entities WHERE entities.number = claims.recipient)
