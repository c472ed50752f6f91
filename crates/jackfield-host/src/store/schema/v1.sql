-- The first version. Never edited once it was released: a change is a new file, run behind the earlier ones.
--
-- A session has a short number of ours, which stands in all other tables. They do not refer to it by a foreign
-- key: a deleted session's row goes at once, and with it all that a query can find, while its contents
-- are cleared away piece by piece (`removed`). So every query joins `session`, and a number is never used twice.

CREATE TABLE host (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    id TEXT NOT NULL,
    -- How often the database was opened: what was begun in an earlier time and has no end is lost.
    opened INTEGER NOT NULL,
    rules TEXT NOT NULL
) STRICT;

CREATE TABLE setting (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE session (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    title_lower TEXT NOT NULL,
    folder TEXT NOT NULL,
    archived INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    summary TEXT NOT NULL,
    created TEXT NOT NULL
) STRICT;
CREATE INDEX session_by_time ON session (updated_at);
CREATE INDEX session_unfinished ON session (number) WHERE ended = 0;

-- All ids that the CLI ever gave to a session's conversation.
CREATE TABLE cli_session (
    cli_session_id TEXT NOT NULL,
    session INTEGER NOT NULL,
    PRIMARY KEY (cli_session_id, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX cli_session_by_session ON cli_session (session);

-- Sessions whose contents are still to be cleared away.
CREATE TABLE removed (session INTEGER PRIMARY KEY) STRICT;

-- The events, one row per batch.
CREATE TABLE log (
    number INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    lines BLOB NOT NULL,
    UNIQUE (session, first)
) STRICT;

CREATE TABLE item (
    number INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    item TEXT NOT NULL,
    UNIQUE (session, seq)
) STRICT;

-- What is searched; a row has the number of its item.
CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2');
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);

CREATE TABLE checkpoint (
    session INTEGER PRIMARY KEY,
    snapshot TEXT NOT NULL,
    unsettled TEXT NOT NULL
) STRICT;

CREATE TABLE turn (
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    turn INTEGER,
    at INTEGER NOT NULL,
    model TEXT,
    cost_usd REAL NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_creation_tokens INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_by_time ON turn (at);

CREATE TABLE question (
    number INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    pending INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    tool_name TEXT,
    tool_title TEXT NOT NULL,
    request TEXT NOT NULL,
    decided_at INTEGER,
    outcome TEXT,
    by TEXT,
    message TEXT,
    UNIQUE (session, pending)
) STRICT;
CREATE INDEX question_by_asking ON question (asked_at);
CREATE INDEX question_by_decision ON question (decided_at) WHERE decided_at IS NOT NULL;

CREATE TABLE command (
    id TEXT PRIMARY KEY,
    session TEXT,
    begun_at INTEGER NOT NULL,
    opened INTEGER NOT NULL,
    answer TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX command_by_time ON command (begun_at);
CREATE INDEX command_by_session ON command (session) WHERE session IS NOT NULL;
