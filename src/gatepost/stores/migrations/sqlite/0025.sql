-- oldest: 25

-- How a round of a decision ended: once. It also ends if a respondent passes the question on.
ALTER TABLE answers RENAME TO old_answers;
CREATE TABLE answers (
    decision    INTEGER NOT NULL REFERENCES decisions,
    iteration   INTEGER NOT NULL,
    outcome     TEXT NOT NULL CHECK (
        outcome IN ('answered', 'rejected', 'defaulted', 'expired', 'withdrawn', 'orphaned', 'again', 'delegated')
    ),
    option      TEXT,
    text        TEXT,
    answered_by INTEGER REFERENCES entities,
    answered_at INTEGER NOT NULL,
    args        TEXT,
    PRIMARY KEY (decision, iteration)
) STRICT, WITHOUT ROWID;
INSERT INTO answers SELECT * FROM old_answers;
DROP TABLE old_answers;
CREATE INDEX answers_at ON answers (answered_at);
