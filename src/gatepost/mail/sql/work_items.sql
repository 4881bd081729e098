-- name: insert
INSERT INTO work_items (type, id, title, parent, topic, made_by, created_at, updated_at)
VALUES (:type, :id, :title, :parent, :topic, :made_by, :now, :now)
ON CONFLICT DO NOTHING
RETURNING number

-- name: find
-- By its id or its topic; an id comes first.
SELECT w.* FROM work_item_details w
WHERE w.type = :type AND (w.id = :id OR w.topic = :id)
ORDER BY w.id <> :id
LIMIT 1

-- name: list_page
SELECT w.*
FROM work_items i
JOIN work_item_details w ON w.number = i.number
WHERE i.number > :after
    AND (CAST(:type AS text) IS NULL OR i.type = CAST(:type AS text))
    AND (CAST(:status AS text) IS NULL OR i.status = CAST(:status AS text))
    AND (CAST(:parent AS bigint) IS NULL OR i.parent = CAST(:parent AS bigint))
ORDER BY i.number
LIMIT :limit

-- name: list_recent_ids
SELECT w.id FROM work_items w WHERE w.type = :type ORDER BY w.number DESC LIMIT 200

-- name: set_status
UPDATE work_items SET status = :status, updated_at = :now WHERE number = :number

-- name: set_topic
UPDATE work_items SET topic = :topic WHERE number = :number

-- name: has_name
SELECT TRUE AS has_name FROM work_items WHERE topic = :id OR (type = :type AND id = :id) LIMIT 1

-- name: has_any
SELECT TRUE AS has_any FROM work_items LIMIT 1

-- name: count_open
-- The work items that an entity has made, or has posted an event of, and that have not ended; counted up to a limit.
SELECT count(*) AS total
FROM (
    SELECT w.number
    FROM work_items w
    WHERE (w.status IS NULL OR w.status NOT IN :closed[])
        AND (
            w.made_by = :entity
            OR EXISTS (
                SELECT 1 FROM outgoing o
                WHERE o.ref_type = w.type AND o.ref_id = w.id AND o.kind = 'event' AND o.sender = :entity
            )
        )
    LIMIT :limit
) AS counted

-- name: count_made
-- The work items that an entity has added, and that have not ended; counted up to a limit.
SELECT count(*) AS total
FROM (
    SELECT w.number
    FROM work_items w
    WHERE w.made_by = :entity AND (w.status IS NULL OR w.status NOT IN :closed[])
    LIMIT :limit
) AS counted
