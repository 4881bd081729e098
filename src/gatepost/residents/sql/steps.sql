-- name: insert
INSERT INTO steps (run, number, kind, call, body, created_at)
VALUES (:run, :number, :kind, :call, :body, :now)

-- name: list_by_run
SELECT number, kind, body, created_at
FROM steps
WHERE run = :run AND number > :after
ORDER BY number
LIMIT :limit

-- name: list_by_mind
SELECT s.kind, s.body
FROM runs r
JOIN steps s ON s.run = r.number
WHERE r.agent = :agent AND r.number > :after AND r.number < :before AND r.status IN ('waiting_tool', 'completed')
ORDER BY s.run, s.number
