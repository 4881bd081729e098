UPDATE agents SET failures = :failures, rest_until = :until, cap = :cap WHERE entity = :entity
