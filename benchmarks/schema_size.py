"""What the definitions of the tools cost a session, by profile: characters, and tokens at 3.2 characters each.

A client pays for what it shows to its model: name, description and schema. On the wire come title and annotations.
"""

import json
from typing import Any

from benchmarks.devices import report
from mcp_server.tools import Profile, built

CHARACTERS_PER_TOKEN = 3.2
"""JSON with its many signs has about so many. No tokenizer of a model is at hand offline."""


def sizes(profile: Profile) -> dict[str, int]:
    """Characters of all definitions: as the model gets them, and on the wire."""
    model = wire = 0
    for tool in built(profile):
        shown: dict[str, Any] = {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}
        annotations = tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else {}
        sent = {**shown, "title": tool.title, "annotations": annotations, "_meta": tool.meta}
        model += len(json.dumps(shown, ensure_ascii=False))
        wire += len(json.dumps({name: value for name, value in sent.items() if value is not None}, ensure_ascii=False))
    return {"tools": len(built(profile)), "model": model, "wire": wire}


def main() -> None:
    """Measure and report."""
    profiles: tuple[tuple[Profile, int], ...] = (("full", 6000), ("core", 2000))
    found = {profile: sizes(profile) for profile, _ in profiles}
    rows = [
        (
            profile,
            f"{found[profile]['tools']} tools   {found[profile]['model'] / CHARACTERS_PER_TOKEN:,.0f} tokens for the"
            f" model, {found[profile]['wire'] / CHARACTERS_PER_TOKEN:,.0f} on the wire   (aim: {aim:,} at most)",
        )
        for profile, aim in profiles
    ]
    report("schema_size", rows, {"characters": found, "characters_per_token": CHARACTERS_PER_TOKEN})


if __name__ == "__main__":
    main()
