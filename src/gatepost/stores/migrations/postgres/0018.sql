-- oldest: 18

-- What an agent, a guest too, may do besides: a list of JSON. It was in the configurations of residents.
ALTER TABLE entities ADD COLUMN skills text NOT NULL DEFAULT '[]';
UPDATE entities SET skills = (a.config::json -> 'skills')::text
FROM agents a
WHERE a.entity = entities.number AND a.config::json -> 'skills' IS NOT NULL;
