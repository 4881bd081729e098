-- oldest: 9

-- Tables, columns, indexes and views get the words that the code uses.
DROP VIEW inbox;
DROP VIEW outbox;
DROP VIEW gatehouse;
DROP VIEW questions;

ALTER TABLE errands RENAME TO jobs;
ALTER TABLE tallies RENAME TO accounts;
ALTER TABLE asked RENAME TO respondents;
ALTER TABLE replies RENAME TO idempotency_keys;

ALTER TABLE agents RENAME COLUMN cap TO batch_limit;
ALTER TABLE gates RENAME COLUMN awaited TO awaited_entity;
ALTER TABLE gates RENAME COLUMN look_at TO check_at;
ALTER TABLE answers RENAME COLUMN words TO text;
ALTER TABLE minds RENAME COLUMN dropped TO dropped_count;

ALTER INDEX errands_due RENAME TO jobs_due;
ALTER INDEX asked_entity RENAME TO respondents_entity;
ALTER INDEX replies_age RENAME TO idempotency_keys_age;
ALTER INDEX gates_awaited RENAME TO gates_awaited_entity;
ALTER INDEX gates_looking RENAME TO gates_check;
ALTER INDEX gates_watching RENAME TO gates_event;
ALTER INDEX agents_resting RENAME TO agents_rest;

-- Keys, constraints and sequences keep the old names of their tables and columns; they follow.
DO $$
DECLARE
    change record;
BEGIN
    FOR change IN
        SELECT c.conrelid::regclass AS table_name, c.conname AS old_name,
            regexp_replace(
                regexp_replace(
                    regexp_replace(
                        regexp_replace(
                            regexp_replace(
                                regexp_replace(
                                    regexp_replace(c.conname, '^errands_', 'jobs_'),
                                    '^tallies_', 'accounts_'
                                ), '^asked_', 'respondents_'
                            ), '^replies_', 'idempotency_keys_'
                        ), '^gates_awaited_(?!entity_)', 'gates_awaited_entity_'
                    ), '^minds_dropped_(?!count_)', 'minds_dropped_count_'
                ), '^gates_look_at_', 'gates_check_at_'
            ) AS new_name
        FROM pg_constraint c
        WHERE c.connamespace = current_schema()::regnamespace
    LOOP
        IF change.new_name <> change.old_name THEN
            EXECUTE format(
                'ALTER TABLE %s RENAME CONSTRAINT %I TO %I', change.table_name, change.old_name, change.new_name
            );
        END IF;
    END LOOP;
END
$$;
ALTER SEQUENCE errands_number_seq RENAME TO jobs_number_seq;

-- An item with its event, its recipient and its claim.
CREATE VIEW inbox_items AS
SELECT
    i.recipient, i.arrival, r.name AS recipient_name,
    e.id, e.type, e.source, s.name AS sender_name, s.display AS sender_display, s.kind AS sender_kind,
    e.subject, e.content, e.data, i.priority, i.dedup_key, e.created_at, i.expires_at,
    e.ref_type, e.ref_id, e.route_channel, e.route_session, e.hops, e.trust, i.wakes,
    i.state, i.attempts, i.seen_at, i.ended_at, c.kind AS claim_kind, c.owner AS claim_owner, c.taken_at AS claim_at,
    e.occurred_at
FROM items i
JOIN events e ON e.arrival = i.arrival
JOIN entities r ON r.number = i.recipient
LEFT JOIN entities s ON s.number = e.sender
LEFT JOIN claims c ON c.number = i.claim;

-- A broadcast as the item that it will be for an agent that has not taken it yet; the same columns as inbox_items.
CREATE VIEW pending_broadcasts AS
SELECT
    r.number AS recipient, b.arrival, r.name AS recipient_name,
    e.id, e.type, e.source, s.name AS sender_name, s.display AS sender_display, s.kind AS sender_kind,
    e.subject, e.content, e.data, b.priority, b.dedup_key, e.created_at, b.expires_at,
    e.ref_type, e.ref_id, e.route_channel, e.route_session, e.hops, e.trust, b.wakes,
    'pending' AS state, 0 AS attempts, CAST(NULL AS BIGINT) AS seen_at, CAST(NULL AS BIGINT) AS ended_at,
    NULL AS claim_kind, NULL AS claim_owner, CAST(NULL AS BIGINT) AS claim_at, e.occurred_at
FROM broadcasts b
JOIN inboxes x ON x.cursor < b.number
JOIN entities r ON r.number = x.recipient AND r.kind = 'agent' AND r.retired_at IS NULL
JOIN events e ON e.arrival = b.arrival
LEFT JOIN entities s ON s.number = b.sender
WHERE (b.sender IS NULL OR b.sender <> r.number)
    AND NOT EXISTS (SELECT 1 FROM items i WHERE i.recipient = r.number AND i.dedup_key = b.dedup_key);

-- A gate with its owner and its resolution, without its waiters.
CREATE VIEW gate_details AS
SELECT
    g.number, g.id, g.name, g.kind, o.name AS owner, m.name AS made_by, g.awaits, g.instruction, g.deadline,
    g.at_deadline, g.fail, g.trouble, g.escalated_at, g.created_at, r.ending, r.reason, b.name AS ended_by, r.ended_at
FROM gates g
JOIN entities o ON o.number = g.owner
LEFT JOIN entities m ON m.number = g.made_by
LEFT JOIN resolutions r ON r.gate = g.number
LEFT JOIN entities b ON b.number = r.ended_by;

-- A decision with its gate and its asker, without respondents and answers.
CREATE VIEW decision_details AS
SELECT
    d.number, d.id, g.id AS gate, a.name AS asker, d.question, d.options, d.free_text, d.urgency, d.default_option,
    g.deadline, d.context, d.context_hash, d.ref_type, d.ref_id, d.session, d.iteration, d.guidance, d.created_at
FROM decisions d
JOIN gates g ON g.number = d.gate
JOIN entities a ON a.number = d.asker;
