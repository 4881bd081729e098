INSERT INTO triggers (id, name, provider, scheme, secret, target, prompt, owner, active, created_at)
VALUES (:id, :name, :provider, :scheme, :secret, :target, :prompt, :owner, :active, :now)
ON CONFLICT (name) DO NOTHING
