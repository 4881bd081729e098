SELECT
    r.number, r.id, e.name, r.status, r.cycle, r.cause, r.claim, r.claim_fence, r.events, r.steps, r.effects,
    r.prompt_tokens, r.completion_tokens, r.hops, r.version, r.model, r.mind, r.summary, r.error,
    r.limit_reached, r.started_at, r.ended_at
FROM runs r
JOIN entities e ON e.number = r.agent
WHERE r.id = :id
