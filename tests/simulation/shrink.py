"""Makes a failing script short: leaves out every step that it fails without."""

from dataclasses import replace

from tests.simulation.script import Script
from tests.simulation.world import run


def _kind(violation: str | None) -> str | None:
    """Which guarantee is broken; shrinking must not wander off to another one."""
    return violation.split(":")[0].split(" ")[0] if violation else None


def shrunk(script: Script) -> Script:
    """The shortest script found that breaks the same guarantee. The script must fail."""
    wanted = _kind(run(script).violation)
    assert wanted is not None, "this script does not fail"
    size = max(1, len(script.steps) // 2)
    while size:
        start = 0
        while start < len(script.steps):
            shorter = replace(script, steps=script.steps[:start] + script.steps[start + size :])
            if _kind(run(shorter).violation) == wanted:
                script = shorter
            else:
                start += size
        size //= 2
    return script
