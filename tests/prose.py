"""The sentences of the documentation, for tests that count their words."""

from __future__ import annotations

import re

_NO_PROSE = re.compile(r"^```.*?^```$|<!--.*?-->", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*] |\d+\. |#|\|))")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_END = re.compile(r"(?<=[.!?])[)\"]*\s+")


def sentences(text: str) -> list[str]:
    """Each sentence of the paragraphs, list items and table cells of a Markdown page.

    Code blocks are left out. Code within a sentence counts as one word, a link as its text.
    """
    found = []
    for block in _BLOCK.split(_NO_PROSE.sub("", text)):
        plain = _LINK.sub(r"\1", re.sub(r"`[^`]*`", "`code`", block.strip())).replace("**", "")
        cells = re.split(r"(?<!\\)\|", plain) if plain.startswith("|") else [re.sub(r"^(?:[-*#]+|\d+\.) ", "", plain)]
        found += [" ".join(each.split()) for cell in cells for each in _END.split(cell) if each.strip()]
    return found


def long_sentences(text: str) -> list[str]:
    """The sentences of a page with more than 30 words."""
    return [each for each in sentences(text) if len(each.split()) > 30]
