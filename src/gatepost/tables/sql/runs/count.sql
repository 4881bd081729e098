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
