"""docs/tools.md names every tool, argument, resource and prompt there is, and none that there is not."""

import re
from pathlib import Path

from mcp_server import prompts, resources
from mcp_server.tools import built

TEXT = (Path(__file__).parents[2] / "docs" / "tools.md").read_text("utf-8")


def test_every_tool_and_argument_is_documented() -> None:
    rows = {match[1]: match[2] for match in re.finditer(r"^\| `(\w+)` \|([^|]*)\|[^|]+\|$", TEXT, re.MULTILINE)}
    for tool in built("full"):
        documented = set(re.findall(r"`(\w+)`", rows[tool.name]))
        assert documented == set(tool.parameters["properties"]), tool.name
    assert set(rows) == {tool.name for tool in built("full")}


def test_every_default_is_documented() -> None:
    for tool in built("full"):
        row = next(line for line in TEXT.splitlines() if line.startswith(f"| `{tool.name}` "))
        for name, schema in tool.parameters["properties"].items():
            default = schema.get("default")
            if default is not None:
                assert f"`{name}` ({str(default).lower() if isinstance(default, bool) else default})" in row, (
                    tool.name,
                    name,
                )


def test_every_resource_and_prompt_is_documented() -> None:
    for address in ("memory://list", *(template.uri_template for template in resources.templates())):
        assert f"`{address}`" in TEXT
    for prompt in prompts.built():
        assert f"`{prompt.name}`" in TEXT
