INSERT INTO plans (id, owner, name, instruction, cron, zone, catch_up, status, next_at, gate, hops, fired, created_at)
VALUES (:id, :owner, :name, :instruction, :cron, :zone, :catch_up, 'pending', :next_at, :gate, :hops, 0, :now)
RETURNING number
