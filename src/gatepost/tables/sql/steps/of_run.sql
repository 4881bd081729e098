SELECT number, kind, body, created_at
FROM steps
WHERE run = :run AND number > :after
ORDER BY number
LIMIT :most
