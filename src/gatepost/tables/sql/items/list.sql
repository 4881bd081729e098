-- Filters that are null let everything through. A pending item past its time is shown as what it will become. The order
-- is that of both parts together, not of a query around them: so SQLite merges them, and need not read all to sort it.
SELECT * FROM inbox
WHERE arrival > :after AND (CAST(:recipient AS BIGINT) IS NULL OR recipient = CAST(:recipient AS BIGINT))
    AND (CAST(:beyond AS BIGINT) IS NULL OR arrival > :seen OR recipient > CAST(:beyond AS BIGINT))
    AND (
        CAST(:state AS TEXT) IS NULL
        OR CASE WHEN state = 'pending' AND expires_at <= :now THEN 'expired' ELSE state END = CAST(:state AS TEXT)
    )
    AND (CAST(:type AS TEXT) IS NULL OR type = CAST(:type AS TEXT))
    AND (CAST(:sender AS TEXT) IS NULL OR sender_name = CAST(:sender AS TEXT))
    AND (CAST(:ref_type AS TEXT) IS NULL OR (ref_type = CAST(:ref_type AS TEXT) AND ref_id = CAST(:ref_id AS TEXT)))
    AND (CAST(:since AS BIGINT) IS NULL OR created_at >= CAST(:since AS BIGINT))
    AND (CAST(:until AS BIGINT) IS NULL OR created_at < CAST(:until AS BIGINT))
UNION ALL
SELECT * FROM outbox
WHERE arrival > :after AND (CAST(:recipient AS BIGINT) IS NULL OR recipient = CAST(:recipient AS BIGINT))
    AND (CAST(:beyond AS BIGINT) IS NULL OR arrival > :seen OR recipient > CAST(:beyond AS BIGINT))
    AND (expires_at IS NULL OR expires_at > :now)
    AND (
        CAST(:state AS TEXT) IS NULL
        OR CASE WHEN state = 'pending' AND expires_at <= :now THEN 'expired' ELSE state END = CAST(:state AS TEXT)
    )
    AND (CAST(:type AS TEXT) IS NULL OR type = CAST(:type AS TEXT))
    AND (CAST(:sender AS TEXT) IS NULL OR sender_name = CAST(:sender AS TEXT))
    AND (CAST(:ref_type AS TEXT) IS NULL OR (ref_type = CAST(:ref_type AS TEXT) AND ref_id = CAST(:ref_id AS TEXT)))
    AND (CAST(:since AS BIGINT) IS NULL OR created_at >= CAST(:since AS BIGINT))
    AND (CAST(:until AS BIGINT) IS NULL OR created_at < CAST(:until AS BIGINT))
ORDER BY arrival, recipient
LIMIT :most
