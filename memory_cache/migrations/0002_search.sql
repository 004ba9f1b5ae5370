-- The terms of each memory as memory_cache.search.text gives them; rowid = memories.file_id.
-- Terms come here finished (folded, stemmed, cut), so the tokenizer only splits at spaces.
CREATE VIRTUAL TABLE search_text USING fts5 (
    title, tags, gist, body,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co' tokenchars '_'"
);

-- What ranking needs of each memory without reading its text (memory_cache.search.features).
CREATE TABLE search_features (
    file_id INTEGER PRIMARY KEY,
    length INTEGER NOT NULL,                     -- terms in all columns of search_text
    terms BLOB NOT NULL,                         -- uint32 hashes of the distinct terms
    weights BLOB NOT NULL,                       -- uint8 per term: occurrences, weighted by column
    pieces BLOB NOT NULL,                        -- uint16 distinct word pieces of its words
    piece_count INTEGER NOT NULL
) STRICT;

-- Sums over search_features, kept by triggers: means at the price of one row.
CREATE TABLE search_totals (
    memories INTEGER NOT NULL,
    length INTEGER NOT NULL,
    pieces INTEGER NOT NULL
) STRICT;
INSERT INTO search_totals VALUES (0, 0, 0);
CREATE TRIGGER search_features_added AFTER INSERT ON search_features BEGIN
    UPDATE search_totals SET memories = memories + 1, length = length + new.length, pieces = pieces + new.piece_count;
END;
CREATE TRIGGER search_features_removed AFTER DELETE ON search_features BEGIN
    UPDATE search_totals SET memories = memories - 1, length = length - old.length, pieces = pieces - old.piece_count;
END;

-- One vector per memory. Rows of removed memories stay with vector NULL, so that a reader that
-- follows `change` learns of every removal; a row is taken over when its file_id is used again.
CREATE TABLE search_vectors (
    file_id INTEGER PRIMARY KEY,
    change INTEGER NOT NULL,                     -- grows with every change of any row
    model TEXT NOT NULL,                         -- the embedder that made it, or should make it
    vector BLOB                                  -- int8, largest component ±127; NULL: none (yet)
) STRICT;
CREATE UNIQUE INDEX search_vectors_change ON search_vectors (change);

-- Neighbours in time of a memory within its project.
CREATE INDEX memories_neighbours ON memories (project_key, created);
