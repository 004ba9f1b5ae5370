"""Where files live: one small protocol and its implementations. Knows paths, bytes and versions; nothing of memories."""
