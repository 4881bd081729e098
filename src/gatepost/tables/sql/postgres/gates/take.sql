-- One of each owner, then a second of each; owners go on after the one who had the last turn. What another has taken
-- meanwhile is not due any more: that is asked again of the row itself, once it is locked. Materialized, because a
-- subquery that the planner runs more than once skips what it has locked, and so takes more than the limit.
WITH taken AS MATERIALIZED (
    SELECT g.number
    FROM gates g
    JOIN (
        SELECT d.number, o.name COLLATE "C" AS name,
            row_number() OVER (PARTITION BY d.owner ORDER BY d.look_at, d.number) AS turn
        FROM gates d
        JOIN entities o ON o.number = d.owner
        WHERE d.ended_at IS NULL AND d.look_at <= :now
    ) AS due ON due.number = g.number
    WHERE g.ended_at IS NULL AND g.look_at <= :now
    ORDER BY due.turn, due.name <= :after, due.name
    LIMIT :most
    FOR UPDATE OF g SKIP LOCKED
)
UPDATE gates SET look_at = :until FROM taken WHERE gates.number = taken.number
RETURNING gates.id
