-- oldest: 15

-- Keys are stored as hashes; the prefix tells them apart in a list. Those of the page and of one-time links end.
ALTER TABLE keys ADD COLUMN expires_at bigint;
ALTER TABLE keys DROP CONSTRAINT keys_kind_check;
ALTER TABLE keys ADD CHECK (kind IN ('admin', 'agent', 'trigger', 'public', 'page', 'link'));
CREATE INDEX keys_expires_at ON keys (expires_at) WHERE expires_at IS NOT NULL;

-- A plan that is disabled does not fire.
ALTER TABLE plans ADD COLUMN active boolean NOT NULL DEFAULT true;
DROP INDEX plans_due;
CREATE INDEX plans_due ON plans (next_at) WHERE status = 'pending' AND active;
