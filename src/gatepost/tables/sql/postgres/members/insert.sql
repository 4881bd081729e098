INSERT INTO members (space, entity, joined_at, read_seq)
SELECT * FROM unnest(:space::bigint[], :entity::bigint[], :joined_at::bigint[], :read_seq::bigint[])
ON CONFLICT DO NOTHING
