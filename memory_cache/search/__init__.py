"""Search: full text and vectors over the table `memories`, fused, ranked and explained.

`index` keeps the search tables in step with a memory, `recall` answers a query,
`similar` finds near-duplicates. Nothing here reads the network or writes files.
"""
