SELECT count(*)
FROM entities
WHERE team = :team AND (CAST(:role AS TEXT) IS NULL OR role = CAST(:role AS TEXT)) AND retired_at IS NULL
