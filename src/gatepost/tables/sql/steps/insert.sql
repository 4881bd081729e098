INSERT INTO steps (run, number, kind, call, body, created_at)
VALUES (:run, :number, :kind, :call, :body, :now)
