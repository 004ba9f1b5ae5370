"""Search: full text and vectors over the table `memories`, fused, ranked and explained.

`index` keeps the search tables in step with a memory, `recall` answers a query,
`similar` finds near-duplicates. Nothing here reads the network or writes files.
"""

import os

# One search multiplies small matrices; handing them to more threads costs more than it saves, and on a
# busy machine many times more. Read by numpy when it is first imported, which is later than this.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
