-- oldest: 9

-- The records of what was sent: one for each mail, note and work event, with the data that a ledger posts.
CREATE TABLE outgoing (
    number       INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    kind         TEXT NOT NULL CHECK (kind IN ('mail', 'note', 'event')),
    sender       INTEGER NOT NULL REFERENCES entities,
    -- the addresses as they were given, a JSON list
    targets      TEXT NOT NULL,
    data         TEXT NOT NULL,
    ref_type     TEXT,
    ref_id       TEXT,
    -- of mail: the id of the first mail of its thread, and the event that it replies to
    thread       TEXT,
    reply_to     TEXT,
    -- the event in the inboxes; NULL if nobody got one. It is removed with its last item, its arrival is kept.
    event        TEXT,
    arrival      INTEGER,
    -- of mail whose sender wants to know that it was read; NULL if it does not
    ack          TEXT CHECK (ack IN ('pending', 'overdue', 'read')),
    ack_deadline INTEGER,
    created_at   INTEGER NOT NULL,
    posted_at    INTEGER
) STRICT;
CREATE INDEX outgoing_sender ON outgoing (sender, number);
CREATE INDEX outgoing_thread ON outgoing (thread, number) WHERE thread IS NOT NULL;
CREATE INDEX outgoing_ref ON outgoing (ref_type, ref_id, number) WHERE ref_type IS NOT NULL;
CREATE UNIQUE INDEX outgoing_arrival ON outgoing (arrival) WHERE arrival IS NOT NULL;
CREATE INDEX outgoing_event ON outgoing (event) WHERE event IS NOT NULL;
CREATE INDEX outgoing_deadline ON outgoing (ack_deadline) WHERE ack = 'pending';
CREATE INDEX outgoing_posts ON outgoing (sender, created_at) WHERE kind IN ('note', 'event');

-- Who got it, or will. A broadcast has no rows here: each agent takes it for itself.
CREATE TABLE outgoing_recipients (
    outgoing  INTEGER NOT NULL REFERENCES outgoing,
    recipient INTEGER NOT NULL REFERENCES entities,
    -- how its item ended, and when; NULL while there is an item
    state     TEXT CHECK (state IN ('delivered', 'expired', 'discarded')),
    ended_at  INTEGER,
    PRIMARY KEY (outgoing, recipient)
) STRICT, WITHOUT ROWID;
CREATE INDEX outgoing_recipients_recipient ON outgoing_recipients (recipient, outgoing);

-- What people and agents work on. Its notes and events are in `outgoing`, by its type and id.
CREATE TABLE work_items (
    number     INTEGER PRIMARY KEY,
    type       TEXT NOT NULL CHECK (type IN ('task', 'phase', 'stage', 'project')),
    id         TEXT NOT NULL,
    title      TEXT NOT NULL,
    parent     INTEGER REFERENCES work_items,
    -- its topic on a ledger
    topic      TEXT UNIQUE,
    -- its last event
    status     TEXT,
    made_by    INTEGER NOT NULL REFERENCES entities,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (type, id)
) STRICT;
CREATE INDEX work_items_parent ON work_items (parent) WHERE parent IS NOT NULL;

-- A record with the name of its sender.
CREATE VIEW outgoing_details AS
SELECT
    o.number, o.id, o.kind, s.name AS sender, o.targets, o.data, o.ref_type, o.ref_id, o.thread, o.reply_to, o.event,
    o.ack, o.ack_deadline, o.created_at, o.posted_at, o.arrival
FROM outgoing o
JOIN entities s ON s.number = o.sender;

-- A work item with the names that it refers to.
CREATE VIEW work_item_details AS
SELECT
    w.number, w.type, w.id, w.title, p.type AS parent_type, p.id AS parent_id, w.topic, w.status, m.name AS made_by,
    w.created_at, w.updated_at
FROM work_items w
JOIN entities m ON m.number = w.made_by
LEFT JOIN work_items p ON p.number = w.parent;
