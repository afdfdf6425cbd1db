"""The view that Kafka's JmxReporter gives: a bean for each group and set of tags, with its metrics as attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kafka_tools.metrics.metric import Metric
    from kafka_tools.metrics.names import MetricName

_PLAIN = re.compile(r"[\w\-%. \t]*", re.ASCII)


class Attribute(NamedTuple):
    """What a bean says of one of its attributes."""

    name: str
    description: str


class Bean:
    """The metrics of one group and set of tags. Attributes are computed when they are first asked for, not before."""

    def __init__(self) -> None:
        self._metrics: dict[str, Metric] = {}
        self._attributes: tuple[Attribute, ...] | None = None

    def attributes(self) -> tuple[Attribute, ...]:
        """What the bean contains; no value is computed."""
        if self._attributes is None:
            self._attributes = tuple(
                Attribute(name, metric.name.description) for name, metric in list(self._metrics.items())
            )
        return self._attributes

    def value(self, attribute: str) -> object:
        """The value of one attribute now. Raises KeyError for an unknown one."""
        return self._metrics[attribute].value()

    def values(self) -> dict[str, object]:
        """The values of all attributes now."""
        return {name: metric.value() for name, metric in list(self._metrics.items())}

    def _put(self, metric: Metric) -> None:
        self._metrics[metric.name.name] = metric
        self._attributes = None

    def _drop(self, metric: Metric) -> bool:
        self._metrics.pop(metric.name.name, None)
        self._attributes = None
        return not self._metrics


class BeanReporter:
    """A reporter whose ``beans`` are named as in JMX, such as ``kafka.producer:type=producer-metrics,client-id=a``.

    ``domain`` is the part before the colon.
    """

    def __init__(self, domain: str) -> None:
        self._domain = domain
        self._lock = RLock()
        self._beans: dict[str, Bean] = {}

    def added(self, metric: Metric) -> None:
        with self._lock:
            self._beans.setdefault(self._name(metric.name), Bean())._put(metric)

    def removed(self, metric: Metric) -> None:
        name = self._name(metric.name)
        with self._lock:
            bean = self._beans.get(name)
            if bean is not None and bean._drop(metric):
                del self._beans[name]

    def close(self) -> None:
        with self._lock:
            self._beans.clear()

    def beans(self) -> dict[str, Bean]:
        """All beans by name: a copy."""
        with self._lock:
            return dict(self._beans)

    def _name(self, name: MetricName) -> str:
        return bean_name(self._domain, name.group, name.tags)


def bean_name(domain: str, kind: str, tags: Mapping[str, str], quote: Callable[[str], str] | None = None) -> str:
    """The name of a bean: ``domain:type=kind,tag=value``. Tags without a name or value are left out."""
    quote = quote or quoted
    shown = "".join(f",{tag}={quote(value)}" for tag, value in tags.items() if tag and value)
    return f"{domain}:type={kind}{shown}"


def quoted(value: str) -> str:
    """A value in a bean's name: in double quotes if it contains anything but letters, digits, blanks and ``_-%.``."""
    if _PLAIN.fullmatch(value):
        return value
    return '"' + re.sub(r'[\\"*?]', lambda match: "\\" + match[0], value).replace("\n", "\\n") + '"'
