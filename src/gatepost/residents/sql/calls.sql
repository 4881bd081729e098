-- name: insert
INSERT INTO calls (id, run, tool, arguments, status, created_at, expires_at)
VALUES (:id, :run, :tool, :arguments, 'pending', :now, :expires_at)

-- name: read
SELECT
    c.id, r.id AS run, e.name AS agent, c.tool, c.arguments, c.status, c.result, c.created_at, c.expires_at, c.ended_at
FROM calls c
JOIN runs r ON r.number = c.run
JOIN entities e ON e.number = r.agent
WHERE c.id = :id

-- name: list_by_run
SELECT
    c.id, r.id AS run, e.name AS agent, c.tool, c.arguments, c.status, c.result, c.created_at, c.expires_at, c.ended_at
FROM calls c
JOIN runs r ON r.number = c.run
JOIN entities e ON e.number = r.agent
WHERE c.run = :run
ORDER BY c.created_at, c.id

-- name: list_expired
SELECT
    c.id, r.id AS run, e.name AS agent, c.tool, c.arguments, c.status, c.result, c.created_at, c.expires_at, c.ended_at
FROM calls c
JOIN runs r ON r.number = c.run
JOIN entities e ON e.number = r.agent
WHERE c.status = 'pending' AND c.expires_at <= :now
ORDER BY c.expires_at
LIMIT :limit

-- name: end
UPDATE calls SET status = :status, result = :result, ended_at = :now WHERE id = :id AND status = 'pending'
