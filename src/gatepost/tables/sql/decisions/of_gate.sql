SELECT q.* FROM questions q WHERE q.gate = :gate
