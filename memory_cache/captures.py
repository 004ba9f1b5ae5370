"""Hook events as documents and memories: what a tool answered, and what a compaction summed up."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memory_cache.document_file import DocumentFile

SUMMARY_CATEGORY = "session"
SUMMARY_TTL = "30d"

_CONTEXT7 = re.compile(r"^mcp__(?:plugin_\w+?_)?context7(?:_\w+)?__(?P<tool>[\w-]+)$", re.IGNORECASE)
_LIBRARY_KEYS = ("context7CompatibleLibraryID", "libraryId", "libraryID", "library_id", "libraryName", "library")
_SOURCE_KEYS = ("url", "uri", "source", "path", "query", *_LIBRARY_KEYS)


def document_of(event: Mapping[str, Any], project_id: str | None, now: datetime) -> DocumentFile | None:
    """The document that a tool's answer is; None when it answered nothing worth keeping, or failed.

    Claude Code gives a tool's answer as a string, as MCP content blocks, as `{"content": [...]}`, as WebFetch's
    `{"result", "url", "code"}`, or as any other JSON.
    """
    tool = str(event.get("tool_name") or "")
    given = event.get("tool_input")
    arguments = given if isinstance(given, dict) else {}
    answer = event.get("tool_response")
    content = text_of(answer)
    if not tool or not content.strip() or _failed(answer):
        return None
    name, kind, source, metadata = _provenance(tool, arguments, answer)
    session = event.get("session_id")
    return DocumentFile(
        title=_title(content, source, tool), content=content, type=kind, source=source, source_tool=name,
        created=now, updated=now, projects=(project_id,) if project_id else (), metadata=metadata or None,
        memory_session_id=session if isinstance(session, str) else None,
    )  # fmt: skip


def text_of(answer: Any) -> str:
    """The text of a tool's answer, whatever its shape."""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, list):
        return "\n\n".join(part for block in answer if (part := _text_of_block(block)))
    if isinstance(answer, dict):
        for key in ("content", "result", "text", "output"):
            if isinstance(answer.get(key), str | list):
                return text_of(answer[key])
    return "" if answer is None else json.dumps(answer, ensure_ascii=False, indent=2)


def _text_of_block(block: Any) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return ""
    if isinstance(block.get("text"), str):
        return str(block["text"])
    resource = block.get("resource")
    return str(resource.get("text") or "") if isinstance(resource, dict) else ""


def _failed(answer: Any) -> bool:
    if not isinstance(answer, dict):
        return False
    code = answer.get("code")
    return bool(answer.get("isError") or answer.get("is_error")) or (isinstance(code, int) and code >= 400)


def _provenance(tool: str, arguments: Mapping[str, Any], answer: Any) -> tuple[str, str, str, dict[str, Any]]:
    if tool.lower() == "webfetch":
        url = arguments.get("url") or (answer.get("url") if isinstance(answer, dict) else "") or ""
        prompt = arguments.get("prompt")
        # WebFetch answers a question about a page: without the question the answer means little.
        return "webfetch", "web-content", str(url), {"prompt": prompt} if isinstance(prompt, str) else {}
    found = _CONTEXT7.match(tool)
    if found:
        library = next((str(arguments[key]) for key in _LIBRARY_KEYS if arguments.get(key)), "")
        asked = {key: arguments[key] for key in ("topic", "query") if isinstance(arguments.get(key), str)}
        kind = "custom" if found["tool"].startswith("resolve") else "library-docs"
        return "context7", kind, library, {**asked, "tool": found["tool"]}
    source = next((str(arguments[key]) for key in _SOURCE_KEYS if arguments.get(key)), tool)
    return tool, "custom", source, {}


def _title(content: str, source: str, tool: str) -> str:
    heading = re.search(r"^#{1,3}[ \t]+(\S.{0,150})$", content[:4000], re.MULTILINE)
    return heading[1].strip() if heading else source or tool


def summary_of(event: Mapping[str, Any], project_name: str | None, now: datetime) -> str | None:
    """The memory's text of a compaction summary; None when there is none."""
    summary = event.get("summary")
    if not isinstance(summary, str) or not summary.strip():
        return None
    place = f" on {project_name}" if project_name else ""
    return f"# Summary of a session{place}, {now:%Y-%m-%d %H:%M} UTC\n\n{summary.strip()}\n"
