-- Decisions outlive their session: who decided what, and when. What was asked in words goes with the session.

CREATE TABLE past_decision (
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    pending INTEGER NOT NULL,
    kind TEXT NOT NULL,
    tool_name TEXT,
    asked_at INTEGER NOT NULL,
    decided_at INTEGER NOT NULL,
    outcome TEXT,
    by TEXT
) STRICT;
CREATE INDEX past_decision_by_time ON past_decision (decided_at);
