SELECT number, id, name, last_seq, created_at, archived_at
FROM spaces
WHERE number > :after
ORDER BY number
LIMIT :most
