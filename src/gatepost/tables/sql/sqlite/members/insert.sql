INSERT INTO members (space, entity, joined_at, read_seq)
VALUES (:space, :entity, :joined_at, :read_seq)
ON CONFLICT DO NOTHING
