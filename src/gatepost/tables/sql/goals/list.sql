SELECT number, id, description, status, priority, created_at, updated_at
FROM goals
WHERE entity = :entity AND (CAST(:status AS TEXT) IS NULL OR status = CAST(:status AS TEXT))
ORDER BY priority DESC, number
LIMIT :most
