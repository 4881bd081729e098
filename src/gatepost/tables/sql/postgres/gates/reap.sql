-- A decision stays, and its gate with it.
WITH old AS MATERIALIZED (
    SELECT g.number
    FROM gates g
    WHERE g.ended_at IS NOT NULL AND g.ended_at <= :before AND g.kind <> 'decision'
        AND NOT EXISTS (SELECT 1 FROM plans p WHERE p.gate = g.number)
    ORDER BY g.ended_at
    LIMIT :most
    FOR UPDATE OF g SKIP LOCKED
)
DELETE FROM gates USING old WHERE gates.number = old.number
