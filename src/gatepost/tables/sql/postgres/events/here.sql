-- The last place of which everything up to it is there: that of an event, because the number of a transaction that stored
-- nothing may be given again after a crash. Then the first that nobody can have yet, and whether more is held back: events
-- that are visible, but not yet all that may come to lie before them.
SELECT
    coalesce(last.xid::text::bigint, 0), coalesce(last.arrival, 0), running.oldest::text::bigint, 0::bigint,
    EXISTS (SELECT 1 FROM events e WHERE e.xid >= running.oldest)
FROM (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS oldest) AS running
LEFT JOIN LATERAL (
    SELECT e.xid, e.arrival
    FROM events e
    WHERE e.xid < running.oldest
    ORDER BY e.xid DESC, e.arrival DESC
    LIMIT 1
) AS last ON TRUE
