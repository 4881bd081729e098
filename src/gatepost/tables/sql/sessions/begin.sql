-- A session that comes back goes on where it was, whoever it is by now.
INSERT INTO sessions (id, entity, host, state, hops, started_at, seen_at)
VALUES (:id, :entity, :host, :state, 0, :now, :now)
ON CONFLICT (id) DO UPDATE
SET entity = excluded.entity, host = excluded.host, state = excluded.state, seen_at = excluded.seen_at
