INSERT INTO decisions
    (id, gate, asker, question, options, free_text, urgency, default_option, context, context_hash, ref_type, ref_id,
     session, iteration, guidance, created_at)
VALUES
    (:id, :gate, :asker, :question, :options, :free_text, :urgency, :default_option, :context, :context_hash, :ref_type,
     :ref_id, :session, :iteration, :guidance, :now)
RETURNING number
