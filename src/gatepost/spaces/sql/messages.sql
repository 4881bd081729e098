-- name: insert
INSERT INTO messages (space, seq, id, sender, content, data, created_at)
VALUES (:space, :seq, :id, :sender, :content, :data, :created_at)

-- name: list_after
-- The first after one number and before another.
SELECT
    m.id, m.seq, e.name AS sender, e.display AS sender_display, e.kind AS sender_kind, m.content, m.data, m.created_at
FROM messages m
JOIN entities e ON e.number = m.sender
WHERE m.space = :space AND m.seq > :after AND m.seq < :before
ORDER BY m.seq
LIMIT :limit

-- name: find_last_before
SELECT seq FROM messages WHERE space = :space AND created_at < :time ORDER BY seq DESC LIMIT 1

-- name: list_before
-- The last before a number, backwards.
SELECT
    m.id, m.seq, e.name AS sender, e.display AS sender_display, e.kind AS sender_kind, m.content, m.data, m.created_at
FROM messages m
JOIN entities e ON e.number = m.sender
WHERE m.space = :space AND m.seq < :before
ORDER BY m.seq DESC
LIMIT :limit

-- name: list_rows_before
-- The last before a number, backwards, with the columns that a prompt needs.
SELECT m.id, e.display, e.kind, m.content, m.created_at
FROM messages m
JOIN entities e ON e.number = m.sender
WHERE m.space = :space AND m.seq < :before
ORDER BY m.seq DESC
LIMIT :limit
