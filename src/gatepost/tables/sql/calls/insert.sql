INSERT INTO calls (id, run, tool, arguments, status, created_at, expires_at)
VALUES (:id, :run, :tool, :arguments, 'pending', :now, :expires_at)
