-- What the runs of an agent after a run have used: tokens, and cycles in which the model replied.
SELECT
    CAST(coalesce(sum(prompt_tokens + completion_tokens), 0) AS bigint),
    CAST(coalesce(sum(CASE WHEN steps > 0 THEN 1 ELSE 0 END), 0) AS bigint)
FROM runs
WHERE agent = :agent AND number > :after
