-- From here on `log.lines` may be packed (`packed.rs`), which a program of an earlier version could not read.
--
-- A batch is a commit, and each commit adds a small piece to the index of words. Fewer, larger merges of them cost a
-- search little and a turn much less.
INSERT INTO words (words, rank) VALUES ('automerge', 8);
INSERT INTO words (words, rank) VALUES ('crisismerge', 32);
