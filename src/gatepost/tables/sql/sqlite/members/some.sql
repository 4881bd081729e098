-- Of each space the first live members, as JSON.
SELECT s.value, (
    SELECT json_group_array(json_array(name, display, kind))
    FROM (
        SELECT e.name, e.display, e.kind
        FROM members m
        JOIN entities e ON e.number = m.entity
        WHERE m.space = s.value AND e.retired_at IS NULL
        ORDER BY m.entity
        LIMIT :most
    )
)
FROM json_each(:spaces) s
