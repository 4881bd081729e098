-- Of each space the first live members, as JSON.
SELECT s.number, (
    SELECT json_agg(json_build_array(name, display, kind))::text
    FROM (
        SELECT e.name, e.display, e.kind
        FROM members m
        JOIN entities e ON e.number = m.entity
        WHERE m.space = s.number AND e.retired_at IS NULL
        ORDER BY m.entity
        LIMIT :most
    ) AS first
)
FROM unnest(:spaces::bigint[]) AS s (number)
