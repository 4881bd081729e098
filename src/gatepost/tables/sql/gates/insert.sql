INSERT INTO gates
    (id, name, kind, owner, made_by, awaits, awaited, event_type, event_source, since, instruction, deadline,
     at_deadline, fail, look_at, hops, hops_at, created_at)
VALUES
    (:id, :name, :kind, :owner, :made_by, :awaits, :awaited, :event_type, :event_source, :since, :instruction, :deadline,
     :at_deadline, :fail, :look_at, :hops, :hops_at, :now)
RETURNING number
