UPDATE decisions
SET question = :question, options = :options, free_text = :free_text, urgency = :urgency,
    default_option = :default_option, context = :context, context_hash = :context_hash, ref_type = :ref_type,
    ref_id = :ref_id, iteration = :iteration, guidance = :guidance
WHERE number = :number
