-- oldest: 1

-- A claim of a guest's session holds what a hook has printed until a model has answered.
ALTER TABLE claims DROP CONSTRAINT claims_kind_check;
ALTER TABLE claims ADD CONSTRAINT claims_kind_check CHECK (kind IN ('drain', 'session', 'run', 'person'));
