-- name: take (sqlite)
-- The next :count places in the order of all events: the last of them, because there is one writer, and so they follow
-- each other.
UPDATE counters SET value = value + :count WHERE name = 'arrival' RETURNING value AS last, NULL AS arrivals

-- name: take (postgres)
-- The next :count places in the order of all events: the last of them, and all as a JSON list, because other writers
-- may have taken some between them.
SELECT max(number) AS last, json_agg(number)::text AS arrivals
FROM (SELECT nextval('arrivals') AS number FROM generate_series(1, :count)) AS places

-- name: find_first_arrivals
-- For each instant from `since` on, every `step` until `until`: the first event that was created then or later, or the
-- number after the last event. Events are numbered as they are created, so each number is found by halving: an index on
-- times would have to be written by every push.
WITH RECURSIVE slot (at) AS (
    SELECT CAST(:since AS BIGINT)
    UNION ALL
    SELECT at + CAST(:step AS BIGINT) FROM slot WHERE at + CAST(:step AS BIGINT) <= :until
),
step (at, low, high) AS (
    SELECT slot.at, CAST(0 AS BIGINT), (SELECT coalesce(max(arrival), 0) + 1 FROM events) FROM slot
    UNION ALL
    SELECT
        at,
        CASE
            WHEN (SELECT created_at FROM events WHERE arrival >= (low + high) / 2 ORDER BY arrival LIMIT 1) < at
            THEN (low + high) / 2 ELSE low
        END,
        CASE
            WHEN (SELECT created_at FROM events WHERE arrival >= (low + high) / 2 ORDER BY arrival LIMIT 1) < at
            THEN high ELSE (low + high) / 2
        END
    FROM step
    WHERE high - low > 1
)
SELECT at, high AS arrival FROM step WHERE high - low <= 1 ORDER BY at
