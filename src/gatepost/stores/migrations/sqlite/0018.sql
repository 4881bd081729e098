-- oldest: 18

-- What an agent, a guest too, may do besides: a list of JSON. It was in the configurations of residents.
ALTER TABLE entities ADD COLUMN skills TEXT NOT NULL DEFAULT '[]';
UPDATE entities
SET skills = (SELECT json_extract(a.config, '$.skills') FROM agents a WHERE a.entity = entities.number)
WHERE EXISTS (SELECT 1 FROM agents a WHERE a.entity = entities.number AND json_type(a.config, '$.skills') = 'array');
