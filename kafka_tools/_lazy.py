"""Names of a package that import their module on first use (PEP 562)."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing and collections.abc would cost every start 6 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_names(package: str, names: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` for a package from a table of name -> "module" or "module:attribute"."""

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = names[name].partition(":")
        __import__(module)
        value = getattr(sys.modules[module], attribute or name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(names)
