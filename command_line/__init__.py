"""The claude-memory command: thin commands over the other rooms."""
