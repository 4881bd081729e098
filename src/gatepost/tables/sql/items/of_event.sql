SELECT * FROM inbox
WHERE id = :event AND (CAST(:recipient AS BIGINT) IS NULL OR recipient = CAST(:recipient AS BIGINT))
ORDER BY recipient
