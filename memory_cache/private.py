"""What the user marked as private is never stored: `<private>…</private>` is cut out before anything else."""

import re

# White space and attributes are allowed; possessive and exclusive parts keep the search linear.
_TAG = re.compile(r"<\s*+(/?)\s*+private(?=[\s/>])[^<>]*+>", re.IGNORECASE)


def strip_private(text: str) -> str:
    """The text without private parts, tags included. Tags may be nested, in any case, with white space;
    what follows an unclosed tag is private to the end."""
    kept: list[str] = []
    depth = position = 0
    for tag in _TAG.finditer(text):
        if depth == 0:
            kept.append(text[position : tag.start()])
        if tag[1]:
            depth = max(0, depth - 1)
        elif not tag[0].endswith("/>"):
            depth += 1
        position = tag.end()
    if depth == 0:
        kept.append(text[position:])
    return "".join(kept)
