"""`python -m tests.crashes [KILLS] [SEED]`: a long series, with its figures."""

import sys
import tempfile
import time
from pathlib import Path

from tests.crashes.killing import run

wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 500
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
started = time.monotonic()
with tempfile.TemporaryDirectory() as temporary:
    outcome = run(Path(temporary), wanted, seed)
print(f"{sum(outcome.kills.values())} SIGKILLs {outcome.kills} in {time.monotonic() - started:.0f} s, seed {seed}")
print(f"{sum(outcome.acknowledged.values())} acknowledged writes {outcome.acknowledged}")
print(f"{len(outcome.lost)} lost, {len(outcome.damaged)} damaged, {len(outcome.refused)} failed by themselves")
for line in (*outcome.lost, *outcome.damaged, *outcome.refused):
    print(f"  {line}")
sys.exit(1 if outcome.lost or outcome.damaged else 0)
