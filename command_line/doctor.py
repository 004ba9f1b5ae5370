"""`claude-memory doctor`: look at everything that can be wrong, say what it is and what to do; `--repair` mends."""

import argparse
import json
import sys
from typing import Any

from command_line.arguments import Commands, add_command, wants_json
from command_line.checks import ERROR, Check


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "doctor", run, "what is wrong, and what to do about it")
    parser.add_argument("--repair", action="store_true", help="mend what can be mended without losing anything")


def run(args: argparse.Namespace) -> int:
    """Check, mend when asked, check again. 0 when no error is left."""
    from command_line import examination, repair
    from memory_cache.home import Home

    home = Home.current()
    checks = examination.examine(home)
    repaired: list[str] = []
    if args.repair:
        repaired = repair.repair(home, checks)
        checks = examination.examine(home)
    if wants_json(args):
        sys.stdout.write(json.dumps(_json(checks, repaired), ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stdout.write(in_words(checks, repaired))
    return 1 if any(check.state == ERROR for check in checks) else 0


def _json(checks: list[Check], repaired: list[str]) -> dict[str, Any]:
    return {
        "checks": [{"name": c.name, "state": c.state, "message": c.message, "hint": c.hint} for c in checks],
        "repaired": repaired,
    }


def in_words(checks: list[Check], repaired: list[str]) -> str:
    """A line a check, what to do below it."""
    lines = [f"repaired: {line}" for line in repaired]
    width = max(len(check.name) for check in checks)
    for check in checks:
        lines.append(f"{check.state:<7}  {check.name:<{width}}  {check.message}")
        if check.hint and check.state != "ok":
            lines.append(f"{'':<{width + 11}}{check.hint}")
    return "\n".join(lines) + "\n"
