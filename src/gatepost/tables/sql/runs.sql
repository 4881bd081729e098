-- name: insert
-- A run begins with its first step, which weighs :tokens, and with what its agent carries by then.
INSERT INTO runs (
    id, agent, status, cycle, cause, claim, claim_fence, events, steps, effects, prompt_tokens, completion_tokens,
    hops, version, model, mind, tokens, summary, started_at
)
VALUES (
    :id, :agent, 'running', :cycle, :cause, :claim, :claim_fence, :events, 0, 0, 0, 0,
    :hops, :version, :model, (SELECT max(number) FROM minds WHERE agent = :agent), :tokens, '', :now
)
RETURNING number, mind

-- name: open
SELECT id FROM runs WHERE agent = :agent AND status = 'running'

-- name: read
SELECT
    r.number, r.id, e.name AS agent, r.status, r.cycle, r.cause, r.claim, r.claim_fence, r.events, r.steps, r.effects,
    r.prompt_tokens, r.completion_tokens, r.hops, r.version, r.model, r.mind, r.summary, r.error,
    r.limit_reached, r.started_at, r.ended_at
FROM runs r
JOIN entities e ON e.number = r.agent
WHERE r.id = :id

-- name: list
-- The newest first; `before` is the number of the last one seen.
SELECT
    r.number, r.id, e.name AS agent, r.status, r.cycle, r.cause, r.claim, r.claim_fence, r.events, r.steps, r.effects,
    r.prompt_tokens, r.completion_tokens, r.hops, r.version, r.model, r.mind, r.summary, r.error,
    r.limit_reached, r.started_at, r.ended_at
FROM runs r
JOIN entities e ON e.number = r.agent
WHERE (CAST(:agent AS bigint) IS NULL OR r.agent = :agent)
    AND (CAST(:status AS text) IS NULL OR r.status = :status)
    AND (CAST(:before AS bigint) IS NULL OR r.number < :before)
ORDER BY r.number DESC
LIMIT :limit

-- name: count
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
-- A run that still waits for somebody outside is not completed yet.
UPDATE runs SET
    status = CASE
        WHEN :status = 'completed' AND EXISTS (SELECT 1 FROM calls c WHERE c.run = runs.number AND c.status = 'pending')
        THEN 'waiting_tool' ELSE :status
    END,
    summary = :summary, error = :error, limit_reached = :limit_reached, ended_at = :now
WHERE number = :number AND status = 'running'
RETURNING tokens

-- name: refused
UPDATE runs SET refusals = refusals + 1 WHERE number = :number RETURNING refusals

-- name: answered
-- The last call that was waited for has been answered, or has run out of time.
UPDATE runs SET status = 'completed'
WHERE number = :number AND status = 'waiting_tool'
    AND NOT EXISTS (SELECT 1 FROM calls c WHERE c.run = runs.number AND c.status = 'pending')

-- name: last_limits
-- The limits at which the cycles before a run ended, the newest first; a budget counts for nothing here.
SELECT limit_reached
FROM runs
WHERE agent = :agent AND number < :before AND status IN ('waiting_tool', 'completed', 'skipped')
    AND coalesce(limit_reached, '') <> 'budget'
ORDER BY number DESC
LIMIT :limit

-- name: last_before
-- The last run of an agent that started before an instant. Runs are numbered as they start, so the newest are looked at
-- first, by the index, and no older ones than this.
SELECT number, ended_at
FROM runs
WHERE agent = :agent AND started_at < :since
ORDER BY number DESC
LIMIT 1

-- name: spending
-- What the runs of an agent after a run have used: tokens, and cycles in which the model replied.
SELECT
    CAST(coalesce(sum(prompt_tokens + completion_tokens), 0) AS bigint) AS tokens,
    CAST(coalesce(sum(CASE WHEN steps > 0 THEN 1 ELSE 0 END), 0) AS bigint) AS cycles
FROM runs
WHERE agent = :agent AND number > :after

-- name: weights
SELECT number, tokens, summary
FROM runs
WHERE agent = :agent AND number > :after AND status IN ('waiting_tool', 'completed')
ORDER BY number

-- name: abandoned
-- Whose run is open and nobody is at work on it.
SELECT e.number, e.name
FROM runs r
JOIN entities e ON e.number = r.agent
WHERE r.status = 'running' AND r.agent > :after
    AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = 'agent:' || e.name AND l.deadline > :now)
ORDER BY r.agent
LIMIT :limit

-- name: of_retired
SELECT r.id
FROM runs r
JOIN entities e ON e.number = r.agent
WHERE r.status = 'running' AND e.retired_at IS NOT NULL
LIMIT :limit
