UPDATE agents SET cycles = :cycles, tokens = :tokens, failures = 0, rest_until = NULL, cap = NULL WHERE entity = :entity
