-- name: insert
-- A run begins with its first step, of :tokens, and with the current mind of its agent.
INSERT INTO runs (
    id, agent, status, cycle, cause, claim, claim_fence, events, steps, effects, prompt_tokens, completion_tokens,
    hops, version, model, mind, tokens, summary, started_at
)
VALUES (
    :id, :agent, 'running', :cycle, :cause, :claim, :claim_fence, :events, 0, 0, 0, 0,
    :hops, :version, :model, (SELECT max(number) FROM minds WHERE agent = :agent), :tokens, '', :now
)
RETURNING number, mind

-- name: find_open
SELECT id FROM runs WHERE agent = :agent AND status = 'running'

-- name: read
SELECT
    r.number, r.id, e.name AS agent, r.status, r.cycle, r.cause, r.claim, r.claim_fence, r.events, r.steps, r.effects,
    r.prompt_tokens, r.completion_tokens, r.hops, r.version, r.model, r.mind AS mind_number, r.summary, r.error,
    r.limit_reached AS "limit", r.started_at, r.ended_at
FROM runs r
JOIN entities e ON e.number = r.agent
WHERE r.id = :id

-- name: list_page
-- The newest first; `before` is the number of the last one seen. `first` is the number of the first one since then.
SELECT
    r.number, r.id, e.name AS agent, r.status, r.cycle, r.cause, r.claim, r.claim_fence, r.events, r.steps, r.effects,
    r.prompt_tokens, r.completion_tokens, r.hops, r.version, r.model, r.mind AS mind_number, r.summary, r.error,
    r.limit_reached AS "limit", r.started_at, r.ended_at
FROM runs r
JOIN entities e ON e.number = r.agent
WHERE (CAST(:agent AS bigint) IS NULL OR r.agent = :agent)
    AND (CAST(:status AS text) IS NULL OR r.status = :status)
    AND (CAST(:cause AS text) IS NULL OR r.cause = :cause)
    AND (CAST(:model AS text) IS NULL OR r.model = :model)
    AND (CAST(:before AS bigint) IS NULL OR r.number < :before)
    AND r.number >= :first
    AND (CAST(:since AS bigint) IS NULL OR r.started_at >= :since)
    AND (CAST(:until AS bigint) IS NULL OR r.started_at < :until)
ORDER BY r.number DESC
LIMIT :limit

-- name: find_first_since
-- The first run that started at an instant or later, or the number after the last run. Runs are numbered as they start,
-- so the number is found by halving: no index on times has to be written.
WITH RECURSIVE step (low, high) AS (
    SELECT CAST(0 AS BIGINT), coalesce(max(number), 0) + 1 FROM runs
    UNION ALL
    SELECT
        CASE
            WHEN (SELECT started_at FROM runs WHERE number >= (low + high) / 2 ORDER BY number LIMIT 1) < :since
            THEN (low + high) / 2 ELSE low
        END,
        CASE
            WHEN (SELECT started_at FROM runs WHERE number >= (low + high) / 2 ORDER BY number LIMIT 1) < :since
            THEN high ELSE (low + high) / 2
        END
    FROM step
    WHERE high - low > 1
)
SELECT high AS number FROM step WHERE high - low <= 1

-- name: add_usage
UPDATE runs SET
    steps = steps + :steps,
    effects = effects + :effects,
    events = events + :events,
    prompt_tokens = prompt_tokens + :prompt_tokens,
    completion_tokens = completion_tokens + :completion_tokens,
    hops = CASE WHEN hops < :hops THEN :hops ELSE hops END,
    model = CASE WHEN :model = '' THEN model ELSE :model END,
    tokens = tokens + :tokens
WHERE number = :number AND status = 'running'

-- name: end
-- A run with an open call is not completed yet.
UPDATE runs SET
    status = CASE
        WHEN :status = 'completed' AND EXISTS (SELECT 1 FROM calls c WHERE c.run = runs.number AND c.status = 'pending')
        THEN 'waiting_tool' ELSE :status
    END,
    summary = :summary, error = :error, limit_reached = :limit_reached, ended_at = :now
WHERE number = :number AND status = 'running'
RETURNING tokens

-- name: count_refusal
UPDATE runs SET refusals = refusals + 1 WHERE number = :number RETURNING refusals

-- name: complete_waiting
-- The last open call has a result, or has expired.
UPDATE runs SET status = 'completed'
WHERE number = :number AND status = 'waiting_tool'
    AND NOT EXISTS (SELECT 1 FROM calls c WHERE c.run = runs.number AND c.status = 'pending')

-- name: list_last_limits
-- The limits at which the cycles before a run ended, the newest first; those that ended at a budget or by a pause are left out.
SELECT limit_reached
FROM runs
WHERE agent = :agent AND number < :before AND status IN ('waiting_tool', 'completed', 'skipped')
    AND coalesce(limit_reached, '') NOT IN ('budget', 'pause')
ORDER BY number DESC
LIMIT :limit

-- name: find_last_before
-- The last run of an agent that started before an instant. Runs are numbered as they start, so the index gives the
-- newest first, and older ones than this are not read.
SELECT number, ended_at
FROM runs
WHERE agent = :agent AND started_at < :since
ORDER BY number DESC
LIMIT 1

-- name: sum_usage
-- The usage of the runs of an agent after a run: tokens, and cycles in which the model replied.
SELECT
    CAST(coalesce(sum(prompt_tokens + completion_tokens), 0) AS bigint) AS tokens,
    CAST(coalesce(sum(CASE WHEN steps > 0 THEN 1 ELSE 0 END), 0) AS bigint) AS cycles
FROM runs
WHERE agent = :agent AND number > :after

-- name: list_cycle_weights
SELECT number, tokens, summary
FROM runs
WHERE agent = :agent AND number > :after AND status IN ('waiting_tool', 'completed')
ORDER BY number

-- name: list_abandoned
-- Agents whose run is open and has no lease.
SELECT e.number, e.name
FROM runs r
JOIN entities e ON e.number = r.agent
WHERE r.status = 'running' AND r.agent > :after
    AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = 'agent:' || e.name AND l.deadline > :now)
ORDER BY r.agent
LIMIT :limit

-- name: list_open_of_retired
SELECT r.id
FROM runs r
JOIN entities e ON e.number = r.agent
WHERE r.status = 'running' AND e.retired_at IS NOT NULL
LIMIT :limit
