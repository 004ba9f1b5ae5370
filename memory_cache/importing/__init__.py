"""Memories of other systems and of other places, taken in.

Readers (one module per source) turn a path into plain records and say what they left out and why; they write
nothing and decide nothing. `writer` stores records, so that a second import makes no duplicates, changes nothing
that was edited since, and brings nothing back that was forgotten.
"""
