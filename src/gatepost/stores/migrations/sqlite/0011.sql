-- oldest: 11

-- The action that a question is about, and its arguments as a JSON object.
ALTER TABLE decisions ADD COLUMN action TEXT;
ALTER TABLE decisions ADD COLUMN args TEXT;

-- The arguments to run the action with, as a JSON object; null if it is not to be run.
ALTER TABLE answers ADD COLUMN args TEXT;

-- A decision with its gate and its asker, without respondents and answers.
DROP VIEW decision_details;
CREATE VIEW decision_details AS
SELECT
    d.number, d.id, g.id AS gate, a.name AS asker, d.question, d.action, d.args, d.options, d.free_text, d.urgency,
    d.default_option, g.deadline, d.context, d.context_hash, d.ref_type, d.ref_id, d.session, d.iteration, d.guidance,
    d.created_at
FROM decisions d
JOIN gates g ON g.number = d.gate
JOIN entities a ON a.number = d.asker;
