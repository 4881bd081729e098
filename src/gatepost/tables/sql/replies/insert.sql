-- Whoever comes second waits here until the first is through, and then finds its answer.
INSERT INTO replies (scope, key, digest, body, created_at)
VALUES (:scope, :key, :digest, '', :now)
ON CONFLICT (scope, key) DO NOTHING
