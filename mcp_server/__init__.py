"""Answers Claude from the cache over the Model Context Protocol."""
