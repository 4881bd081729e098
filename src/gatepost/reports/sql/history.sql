-- name: list_waits
-- The items of these events for agents and services, and when each ended, if it has; people read when they like.
SELECT i.arrival, i.state, e.created_at, i.ended_at
FROM items i
JOIN events e ON e.arrival = i.arrival
JOIN entities r ON r.number = i.recipient AND r.kind <> 'human'
WHERE i.arrival IN :arrivals[]
ORDER BY i.arrival
LIMIT :limit

-- name: count_runs
-- Runs from a number on, by the steps of time since an instant in which they started.
SELECT
    (started_at - :since) / CAST(:step AS BIGINT) AS slot,
    count(*) AS runs,
    CAST(sum(CASE WHEN status = 'failed' THEN 1 ELSE 0 END) AS BIGINT) AS failed_runs
FROM runs
WHERE number >= :first AND started_at >= :since
GROUP BY 1
ORDER BY 1

-- name: read_store_size (sqlite)
-- In bytes.
SELECT c.page_count * s.page_size AS size FROM pragma_page_count() c, pragma_page_size() s

-- name: read_store_size (postgres)
-- In bytes, indexes included.
SELECT CAST(sum(pg_total_relation_size(oid)) AS BIGINT) AS size
FROM pg_class
WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
