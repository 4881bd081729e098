-- name: insert (sqlite)
INSERT INTO members (space, entity, joined_at, read_seq)
VALUES (:space, :entity, :joined_at, :read_seq)
ON CONFLICT DO NOTHING

-- name: insert (postgres)
INSERT INTO members (space, entity, joined_at, read_seq)
SELECT * FROM unnest(:space::bigint[], :entity::bigint[], :joined_at::bigint[], :read_seq::bigint[])
ON CONFLICT DO NOTHING

-- name: list_live
SELECT e.name, e.display, e.kind, m.joined_at, m.read_seq
FROM members m
JOIN entities e ON e.number = m.entity
WHERE m.space = :space AND e.retired_at IS NULL
ORDER BY m.joined_at, e.number

-- name: list_first (sqlite)
-- Of each space the first live members, as JSON.
SELECT s.value AS space, (
    SELECT json_group_array(json_array(name, display, kind))
    FROM (
        SELECT e.name, e.display, e.kind
        FROM members m
        JOIN entities e ON e.number = m.entity
        WHERE m.space = s.value AND e.retired_at IS NULL
        ORDER BY m.entity
        LIMIT :limit
    )
) AS members
FROM json_each(:spaces) s

-- name: list_first (postgres)
-- Of each space the first live members, as JSON.
SELECT s.number AS space, (
    SELECT json_agg(json_build_array(name, display, kind))::text
    FROM (
        SELECT e.name, e.display, e.kind
        FROM members m
        JOIN entities e ON e.number = m.entity
        WHERE m.space = s.number AND e.retired_at IS NULL
        ORDER BY m.entity
        LIMIT :limit
    ) AS first
) AS members
FROM unnest(:spaces::bigint[]) AS s (number)

-- name: read
SELECT e.name, e.display, e.kind, m.joined_at, m.read_seq
FROM members m
JOIN entities e ON e.number = m.entity
WHERE m.space = :space AND m.entity = :entity

-- name: delete
DELETE FROM members WHERE space = :space AND entity = :entity

-- name: advance
-- Forward only, and only for a member that has read that far already.
UPDATE members SET read_seq = :seq
WHERE space = :space AND entity = :entity AND read_seq >= :min_seq AND read_seq < :seq

-- name: count_unread
SELECT s.id, s.last_seq - m.read_seq AS unread
FROM members m
JOIN spaces s ON s.number = m.space
WHERE m.entity = :entity
ORDER BY s.number
