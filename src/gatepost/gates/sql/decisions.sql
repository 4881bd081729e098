-- name: insert
INSERT INTO decisions
    (id, gate, asker, question, action, args, options, free_text, urgency, default_option, context, context_hash,
     ref_type, ref_id, session, iteration, guidance, is_followed, created_at)
VALUES
    (:id, :gate, :asker, :question, :action, :args, :options, :free_text, :urgency, :default_option, :context,
     :context_hash, :ref_type, :ref_id, :session, :iteration, :guidance, :is_followed, :now)
RETURNING number

-- name: revise
UPDATE decisions
SET question = :question, action = :action, args = :args, options = :options, free_text = :free_text,
    urgency = :urgency, default_option = :default_option, context = :context, context_hash = :context_hash, ref_type = :ref_type,
    ref_id = :ref_id, iteration = :iteration, guidance = :guidance
WHERE number = :number

-- name: begin_round
UPDATE decisions SET iteration = :iteration WHERE number = :number

-- name: read
SELECT * FROM decision_details WHERE id = :id

-- name: read_by_gate
SELECT q.* FROM decision_details q WHERE q.gate = :gate

-- name: list_followed_gates
-- Those of these gates whose decision the program of the asker follows.
SELECT gate FROM decisions WHERE gate IN :gates[] AND is_followed

-- name: list_filters (part)
-- A filter that is null matches everything.
    AND (CAST(:asker AS BIGINT) IS NULL OR d.asker = CAST(:asker AS BIGINT))
    AND (CAST(:session AS TEXT) IS NULL OR d.session = CAST(:session AS TEXT))
    AND (CAST(:is_pending AS BOOLEAN) IS NULL OR (g.ended_at IS NULL) = CAST(:is_pending AS BOOLEAN))
    AND (
        CAST(:respondent AS BIGINT) IS NULL
        OR EXISTS (SELECT 1 FROM respondents k WHERE k.decision = d.number AND k.entity = CAST(:respondent AS BIGINT))
    )
    AND (
        CAST(:participant AS BIGINT) IS NULL
        OR d.asker = CAST(:participant AS BIGINT)
        OR EXISTS (SELECT 1 FROM respondents k WHERE k.decision = d.number AND k.entity = CAST(:participant AS BIGINT))
        OR EXISTS (SELECT 1 FROM answers n WHERE n.decision = d.number AND n.answered_by = CAST(:participant AS BIGINT))
    )
    AND (
        CAST(:since AS BIGINT) IS NULL
        OR EXISTS (
            SELECT 1 FROM answers n
            WHERE n.decision = d.number AND n.iteration = d.iteration AND n.answered_at >= CAST(:since AS BIGINT)
        )
    )

-- name: list_page
SELECT q.*
FROM decision_details q
JOIN decisions d ON d.number = q.number
JOIN gates g ON g.number = d.gate
WHERE d.number > :after
    {list_filters}
ORDER BY d.number
LIMIT :limit

-- name: list_newest
-- The same, the newest first; before a number.
SELECT q.*
FROM decision_details q
JOIN decisions d ON d.number = q.number
JOIN gates g ON g.number = d.gate
WHERE d.number < :before
    {list_filters}
ORDER BY d.number DESC
LIMIT :limit

-- name: list_orphaned
-- Open decisions that cannot go on without an entity: the asker, or the last live respondent.
SELECT d.id
FROM decisions d
JOIN gates g ON g.number = d.gate
WHERE g.ended_at IS NULL
    AND (d.asker = :entity OR EXISTS (SELECT 1 FROM respondents k WHERE k.decision = d.number AND k.entity = :entity))
    AND (
        d.asker = :entity
        OR NOT EXISTS (
            SELECT 1
            FROM respondents k
            JOIN entities e ON e.number = k.entity
            WHERE k.decision = d.number AND e.retired_at IS NULL
        )
    )
ORDER BY d.number
