-- name: insert
INSERT INTO resolutions (gate, ending, reason, ended_by, ended_at)
VALUES (:gate, :ending, :reason, :ended_by, :now)
ON CONFLICT (gate) DO NOTHING
