INSERT INTO plans (id, owner, name, instruction, cron, zone, catch_up, status, next_at, fired, created_at)
VALUES (:id, :owner, :name, :instruction, :cron, :zone, :catch_up, 'pending', :next_at, 0, :now)
RETURNING number
