-- Items say themselves what is searched of them: those behind `indexed.upto` are not in the index of words yet
-- (`index.rs`), and need no note. `unindexed` has the numbers of those before it that were written again since.
CREATE TABLE indexed (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    upto INTEGER NOT NULL
) STRICT;
INSERT INTO indexed SELECT 1, coalesce(max(number), 0) FROM item;

CREATE TABLE numbers (item INTEGER PRIMARY KEY) STRICT;
INSERT INTO numbers SELECT item FROM unindexed;
DROP TABLE unindexed;
ALTER TABLE numbers RENAME TO unindexed;
