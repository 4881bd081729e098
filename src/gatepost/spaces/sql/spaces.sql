-- name: insert
INSERT INTO spaces (id, name, last_seq, created_at)
VALUES (:id, :name, 0, :now)
ON CONFLICT (id) DO NOTHING
RETURNING number

-- name: read
-- A space, and whether an entity is a member of it.
SELECT
    s.number, s.id, s.name, s.last_seq, s.created_at, s.archived_at,
    EXISTS (SELECT 1 FROM members m WHERE m.space = s.number AND m.entity = :entity) AS is_member
FROM spaces s
WHERE s.id = :id

-- name: find_by_name
-- The oldest space of that title.
SELECT number, id, name, last_seq, created_at, archived_at FROM spaces WHERE name = :name ORDER BY number LIMIT 1

-- name: list_page
SELECT number, id, name, last_seq, created_at, archived_at
FROM spaces
WHERE number > :after
ORDER BY number
LIMIT :limit

-- name: list_by_entity
SELECT s.number, s.id, s.name, s.last_seq, s.created_at, s.archived_at
FROM members m
JOIN spaces s ON s.number = m.space
WHERE m.entity = :entity AND s.number > :after
ORDER BY s.number
LIMIT :limit

-- name: list_newest
-- Those that are not archived come first.
SELECT s.number, s.id, s.name, s.last_seq, s.created_at, s.archived_at
FROM spaces s
WHERE
    CAST(:entity AS BIGINT) IS NULL
    OR EXISTS (SELECT 1 FROM members m WHERE m.space = s.number AND m.entity = CAST(:entity AS BIGINT))
ORDER BY (CASE WHEN s.archived_at IS NULL THEN 0 ELSE 1 END), s.number DESC
LIMIT :limit

-- name: lock
-- Locks the space until the end of the transaction, and takes the next number of a message (or none: increment 0).
UPDATE spaces SET last_seq = last_seq + :increment
WHERE id = :id
RETURNING number, id, name, last_seq, created_at, archived_at

-- name: update
UPDATE spaces SET name = :name, archived_at = CAST(:archived_at AS BIGINT) WHERE number = :number

-- name: list_activity
-- Of each space when its last message came, if there is one, and up to which message a member has read it.
SELECT s.id, l.created_at AS last_message_at, m.read_seq
FROM spaces s
LEFT JOIN messages l ON l.space = s.number AND l.seq = s.last_seq
LEFT JOIN members m ON m.space = s.number AND m.entity = CAST(:entity AS BIGINT)
WHERE s.id IN :spaces[]
