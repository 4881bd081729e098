UPDATE errands SET holder = :holder, deadline = :deadline, attempts = attempts + 1
WHERE number IN (
    SELECT number
    FROM errands
    WHERE ended_at IS NULL AND due_at <= :now AND (deadline IS NULL OR deadline <= :now) AND kind IN (SELECT value FROM json_each(:kinds))
    ORDER BY due_at, number
    LIMIT :most
)
RETURNING id, kind, payload, attempts - 1, due_at
