"""The texts in the definitions of APIs: purpose, versions, and when each error comes.

They are read from the source files, because importing all definitions takes half a second.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_DOCSTRING = re.compile(r'\A"""(.*?)"""', re.DOTALL)
_SECTION = re.compile(r"^(Versions|Errors)\n", re.MULTILINE)
_ENTRY = re.compile(r"^    (\S[^:\n]*): ((?:.*)(?:\n {8}.*)*)", re.MULTILINE)


@cache
def sections(stem: str) -> tuple[str, dict[str, dict[str, str]]]:
    """(the text before the sections, section -> entry -> its text) of an API's definition.

    The sections are ``Versions`` and ``Errors``; a definition may lack either.
    """
    source = files("kafka_tools.protocol.messages").joinpath(f"{stem}.py").read_text(encoding="utf-8")
    found = _DOCSTRING.match(source)
    head, *parts = _SECTION.split(found[1] if found else "")
    return head, {
        title: {key: " ".join(words.split()) for key, words in _ENTRY.findall(body)}
        for title, body in zip(parts[::2], parts[1::2], strict=True)
    }


def purpose(stem: str) -> str:
    """One sentence: what the API does."""
    first = sections(stem)[0].partition("\n")[0].partition(": ")[2]
    return first[:1].upper() + first[1:]
