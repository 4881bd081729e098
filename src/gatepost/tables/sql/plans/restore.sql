INSERT INTO plans
    (id, owner, name, instruction, cron, zone, catch_up, status, next_at, gate, hops, last_at, fired, created_at,
     ended_at)
VALUES
    (:id, :owner, :name, :instruction, :cron, :zone, :catch_up, :status, :next_at, :gate, :hops, :last_at, :fired,
     :created_at, :ended_at)
ON CONFLICT (id) DO NOTHING
