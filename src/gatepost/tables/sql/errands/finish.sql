UPDATE errands SET
    ended_at = CAST(:ended_at AS BIGINT), outcome = CAST(:outcome AS TEXT), error = CAST(:error AS TEXT),
    due_at = :due_at, holder = NULL, deadline = NULL
WHERE id = :id AND holder = :holder AND ended_at IS NULL
