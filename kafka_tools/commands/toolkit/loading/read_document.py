"""Reads the documents of ``kafka-tools load``: JSON, or YAML without anchors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kafka_tools.commands.documents import parse
from kafka_tools.commands.options.values import read_text
from kafka_tools.errors import InputError

if TYPE_CHECKING:
    import yaml

_COMMENT = re.compile(r"^[ \t]*//.*$", re.MULTILINE)


def read_document(file: str, what: str) -> tuple[Any, str]:
    """The value of the JSON or YAML text in a file (``-``: standard input), and the file's name for messages.

    A text whose first character is ``{`` or ``[`` is JSON, in which lines that start with ``//`` are comments, as in
    Trogdor's examples. Raises InputError.
    """
    place = "standard input" if file == "-" else file
    text = read_text(file, what)
    without_comments = _COMMENT.sub("", text)
    if without_comments.lstrip()[:1] in ("{", "["):
        return parse(without_comments, place, f"{place}: invalid JSON"), place
    return _of_yaml(text, place), place


def _of_yaml(text: str, place: str) -> Any:
    import yaml

    class Plain(yaml.SafeLoader):
        """Refuses aliases, with which a short text can stand for an endless one, and keys that appear twice."""

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            if self.check_event(yaml.events.AliasEvent):
                line = self.get_mark().line + 1
                raise InputError(f"{place}, near line {line}: aliases are not supported")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            twice = next((name for name in names if names.count(name) > 1), None) if len(names) < 1_000 else None
            if twice is not None:
                raise InputError(f"{place}, line {node.start_mark.line + 1}: the key '{twice}' appears twice")
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(text, Loader=Plain)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f", line {mark.line + 1} column {mark.column + 1}" if mark is not None else ""
        # The text around the mistake, which the error contains, may have a password.
        raise InputError(f"{place}: invalid YAML", hint=f"{place}{where}: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        raise InputError(f"{place}: invalid YAML", hint=f"{place}: {reason}") from None
