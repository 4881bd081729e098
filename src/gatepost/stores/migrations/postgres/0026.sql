-- oldest: 25

-- What an entity has said of its attention: the number of the least urgent priority that wakes it until then, and -1 if
-- none does.
CREATE TABLE attention (
    entity       bigint PRIMARY KEY REFERENCES entities,
    max_priority integer NOT NULL CHECK (max_priority IN (-1, 0)),
    until        bigint NOT NULL
);
