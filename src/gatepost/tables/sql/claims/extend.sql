-- What a hook has printed is held by its session until a model has answered; a run's claim is not a session's.
UPDATE claims SET kind = 'session', deadline = :deadline
WHERE id = :id AND owner = :owner AND fence = :fence AND ended_at IS NULL AND kind IN ('drain', 'session')
