"""Where files live: a small protocol and its backends. Knows paths, bytes and versions; nothing of memories."""
