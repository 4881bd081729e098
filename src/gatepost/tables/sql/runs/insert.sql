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
