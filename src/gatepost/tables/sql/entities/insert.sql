INSERT INTO entities (name, kind, display, team, role, owner, created_at)
VALUES (:name, :kind, :display, :team, :role, :owner, :now)
ON CONFLICT (name) DO NOTHING
RETURNING number
