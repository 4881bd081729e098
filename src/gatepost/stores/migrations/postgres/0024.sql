-- oldest: 22

-- Whether the program of the asker follows a decision, and shows the asker its answer by itself: then the asker may stop.
ALTER TABLE decisions ADD COLUMN is_followed boolean NOT NULL DEFAULT FALSE;

-- A decision with its gate and its asker, without respondents and answers.
DROP VIEW decision_details;
CREATE VIEW decision_details AS
SELECT
    d.number, d.id, g.id AS gate, a.name AS asker, d.question, d.action, d.args, d.options, d.free_text, d.urgency,
    d.default_option, g.deadline, d.context, d.context_hash, d.ref_type, d.ref_id, d.session, d.is_followed, d.iteration,
    d.guidance, d.created_at
FROM decisions d
JOIN gates g ON g.number = d.gate
JOIN entities a ON a.number = d.asker;
