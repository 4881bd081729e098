-- One of each owner, then a second of each; owners go on after the one who had the last turn.
UPDATE gates SET look_at = :until
WHERE number IN (
    SELECT number
    FROM (
        SELECT g.number, o.name, row_number() OVER (PARTITION BY g.owner ORDER BY g.look_at, g.number) AS turn
        FROM gates g
        JOIN entities o ON o.number = g.owner
        WHERE g.ended_at IS NULL AND g.look_at <= :now
    )
    ORDER BY turn, name <= :after, name
    LIMIT :most
)
RETURNING id
