"""
Gates, which keep an agent from stopping, and decisions, which are questions with a gate.

It imports core, operations, stores, directory, inbox and jobs. Start with `gate.py` and `decision.py`, which say what
there is; `question_rules.py` says which questions can be asked, and `answer_rules.py` which answers count;
`automatic_end_actions.py` and `condition_check_background.py` end what ends by itself.
"""
