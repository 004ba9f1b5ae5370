-- The terms of each memory as memory_cache.search.text gives them; rowid = memories.file_id.
-- Terms come here finished (folded, stemmed, cut), so the tokenizer only splits at spaces.
CREATE VIRTUAL TABLE search_text USING fts5 (
    title, tags, gist, body,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co' tokenchars '_'"
);

-- Neighbours in time of a memory.
CREATE INDEX memories_created ON memories (created);
