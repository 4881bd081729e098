-- name: take (sqlite)
-- The next :count places in the order of all events, as a JSON list.
UPDATE counters
SET value = value + :count
WHERE name = 'arrival'
RETURNING (
    WITH RECURSIVE place (number) AS (
        SELECT value - :count + 1
        UNION ALL
        SELECT number + 1 FROM place WHERE number < value
    )
    SELECT json_group_array(number) FROM place
) AS arrivals

-- name: take (postgres)
-- The next :count places in the order of all events, as a JSON list.
SELECT json_agg(nextval('arrivals'))::text AS arrivals FROM generate_series(1, :count)
