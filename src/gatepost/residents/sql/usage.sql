-- name: sum_groups
-- The usage of runs between two numbers, grouped by what is asked for; `period` is the length of a group in time, or 0.
-- The times are compared too, because two runs that start at once may get their numbers in another order.
SELECT
    e.name AS agent, g.model, g.cause, g.starts_at, g.runs, g.failed_runs, g.budget_stops, g.steps, g.events,
    g.prompt_tokens, g.completion_tokens, g.duration
FROM (
    SELECT
        CASE WHEN CAST(:by_agent AS BOOLEAN) THEN r.agent END AS agent,
        CASE WHEN CAST(:by_model AS BOOLEAN) THEN r.model END AS model,
        CASE WHEN CAST(:by_cause AS BOOLEAN) THEN r.cause END AS cause,
        CASE
            WHEN CAST(:period AS BIGINT) > 0 THEN r.started_at - r.started_at % CAST(:period AS BIGINT)
        END AS starts_at,
        count(*) AS runs,
        CAST(sum(CASE WHEN r.status = 'failed' THEN 1 ELSE 0 END) AS BIGINT) AS failed_runs,
        CAST(sum(CASE WHEN r.limit_reached = 'budget' THEN 1 ELSE 0 END) AS BIGINT) AS budget_stops,
        CAST(sum(r.steps) AS BIGINT) AS steps,
        CAST(sum(r.events) AS BIGINT) AS events,
        CAST(sum(r.prompt_tokens) AS BIGINT) AS prompt_tokens,
        CAST(sum(r.completion_tokens) AS BIGINT) AS completion_tokens,
        CAST(sum(coalesce(r.ended_at, :now) - r.started_at) AS BIGINT) AS duration
    FROM runs r
    WHERE r.number >= :first AND r.number < :last
        AND r.started_at >= :since AND r.started_at < :until
        AND (CAST(:agent AS BIGINT) IS NULL OR r.agent = CAST(:agent AS BIGINT))
    GROUP BY 1, 2, 3, 4
) AS g
LEFT JOIN entities e ON e.number = g.agent
ORDER BY g.starts_at, g.prompt_tokens + g.completion_tokens DESC, g.agent, g.model, g.cause
LIMIT :limit OFFSET :offset

-- name: list_most_expensive
-- The runs with the most tokens first, as the filters say; after the run with that number and that count of tokens.
SELECT
    r.number, r.id, e.name AS agent, r.status, r.cycle, r.cause, r.claim, r.claim_fence, r.events, r.steps, r.effects,
    r.prompt_tokens, r.completion_tokens, r.hops, r.version, r.model, r.mind AS mind_number, r.summary, r.error,
    r.limit_reached AS "limit", r.started_at, r.ended_at
FROM runs r
JOIN entities e ON e.number = r.agent
WHERE r.number >= :first AND r.number < :last
    AND r.started_at >= :since AND r.started_at < :until
    AND (CAST(:agent AS BIGINT) IS NULL OR r.agent = CAST(:agent AS BIGINT))
    AND (CAST(:model AS TEXT) IS NULL OR r.model = CAST(:model AS TEXT))
    AND (CAST(:cause AS TEXT) IS NULL OR r.cause = CAST(:cause AS TEXT))
    AND (CAST(:status AS TEXT) IS NULL OR r.status = CAST(:status AS TEXT))
    AND (NOT CAST(:stopped AS BOOLEAN) OR r.limit_reached = 'budget')
    AND (
        CAST(:after_tokens AS BIGINT) IS NULL
        OR r.prompt_tokens + r.completion_tokens < CAST(:after_tokens AS BIGINT)
        OR (r.prompt_tokens + r.completion_tokens = CAST(:after_tokens AS BIGINT) AND r.number < :after_number)
    )
ORDER BY r.prompt_tokens + r.completion_tokens DESC, r.number DESC
LIMIT :limit

-- name: list_budgeted
-- Live residents that may have a budget; whether they do is in their configuration.
SELECT
    a.entity AS number, e.name, e.display, e.skills, a.config, a.version, a.paused_at, a.cycles, a.tokens,
    a.failures, a.rest_until, a.batch_limit
FROM agents a
JOIN entities e ON e.number = a.entity
WHERE a.entity > :after AND e.retired_at IS NULL AND a.config LIKE '%"budget":{%'
    AND (CAST(:agent AS BIGINT) IS NULL OR a.entity = CAST(:agent AS BIGINT))
ORDER BY a.entity
LIMIT :limit

-- name: count_budget_stops
-- The runs of an agent that a budget ended, from a run on.
SELECT count(*) AS total FROM runs WHERE agent = :agent AND number >= :first AND limit_reached = 'budget'
