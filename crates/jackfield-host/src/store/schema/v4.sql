-- Texts that are not in the index of words yet (`index.rs`). A row has the number of its item; one without text takes
-- the item out of the index.
CREATE TABLE unindexed (
    item INTEGER PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;
