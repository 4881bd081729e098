-- oldest: 25

-- What an entity has said of its attention: the number of the least urgent priority that wakes it until then, and -1 if
-- none does.
CREATE TABLE attention (
    entity       INTEGER PRIMARY KEY REFERENCES entities,
    max_priority INTEGER NOT NULL CHECK (max_priority IN (-1, 0)),
    until        INTEGER NOT NULL
) STRICT;
