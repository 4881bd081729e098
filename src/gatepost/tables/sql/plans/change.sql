UPDATE plans
SET name = :name, instruction = :instruction, cron = :cron, zone = :zone, catch_up = :catch_up, status = :status,
    next_at = :next_at, gate = :gate, hops = :hops, ended_at = :ended_at
WHERE number = :number
