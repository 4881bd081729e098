-- name: read
SELECT run, summaries, dropped_count FROM minds WHERE agent = :agent ORDER BY number DESC LIMIT 1

-- name: read_of_run
SELECT run, summaries, dropped_count FROM minds WHERE number = :number

-- name: insert
INSERT INTO minds (agent, run, summaries, dropped_count, created_at)
VALUES (:agent, :run, :summaries, :dropped_count, :now)
