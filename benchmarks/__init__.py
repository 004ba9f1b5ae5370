"""Figures, measured side by side with something plain: each module prints a table and writes JSON."""
