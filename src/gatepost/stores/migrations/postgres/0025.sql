-- oldest: 25

-- A round also ends if a respondent passes the question on.
ALTER TABLE answers DROP CONSTRAINT answers_outcome_check;
ALTER TABLE answers ADD CHECK (
    outcome IN ('answered', 'rejected', 'defaulted', 'expired', 'withdrawn', 'orphaned', 'again', 'delegated')
);
