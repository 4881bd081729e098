UPDATE gates SET instructed_at = CAST(:at AS bigint) WHERE id = :id
