"""The table of task classes, and the reader of a specification of any class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_tools.errors import InputError
from kafka_tools.load.specs.fault_specs import BrokerFaultSpec, NetworkPartitionSpec, NoOpSpec, ProcessStopSpec
from kafka_tools.load.specs.members import JsonMembers, shown
from kafka_tools.load.specs.task_spec import LONGEST_MS, SHORT_PACKAGE, TaskSpec
from kafka_tools.load.specs.workload_specs import (
    ConfigurableProducerSpec,
    ConsumeBenchSpec,
    ProduceBenchSpec,
    RoundTripSpec,
    SustainedConnectionSpec,
)
from kafka_tools.texts.near_names import did_you_mean

CLASSES: dict[str, type[TaskSpec]] = {
    "ProduceBench": ProduceBenchSpec,
    "RoundTrip": RoundTripSpec,
    "ConsumeBench": ConsumeBenchSpec,
    "SustainedConnection": SustainedConnectionSpec,
    "ConfigurableProducer": ConfigurableProducerSpec,
    "ProcessStop": ProcessStopSpec,
    "NetworkPartition": NetworkPartitionSpec,
    "BrokerFault": BrokerFaultSpec,
    "NoOp": NoOpSpec,
}
"""Short name -> class."""
_LEFT_OUT = {
    "ConnectionStress", "ExternalCommand", "DegradedNetwork", "FilesUnreadable", "Kibosh",
}  # fmt: skip
"""Short names of Trogdor's other classes."""


class UnknownTaskClass(InputError):
    """A specification has a class that is not in the table."""


def short_name(given: str) -> str:
    """``ProduceBench`` for the Java class and for every shorter form of its name."""
    name = given.rpartition(".")[2] if given.startswith((SHORT_PACKAGE, "kafka_tools.load.")) else given
    name = name.removesuffix("Spec").removesuffix("Task").removesuffix("Workload")
    return name.removesuffix("Fault") if name != "BrokerFault" else name


def read_spec(value: object, place: str) -> TaskSpec:
    """The specification in a JSON value. Raises UnknownTaskClass, or InputError with the place of the mistake."""
    members = JsonMembers(value, place)
    given = members.text("class")
    if not given:
        raise InputError(f"{place}: class is missing", hint=f"known: {', '.join(CLASSES)}")
    found = CLASSES.get(short_name(given))
    if found is None:
        left_out = short_name(given) in _LEFT_OUT
        raise UnknownTaskClass(
            f"{place}: "
            + (f"class '{given}' of Trogdor is not supported" if left_out else f"unknown class '{shown(given)}'"),
            hint=(None if left_out else did_you_mean([short_name(given)], CLASSES, near=0.6))
            or f"known: {', '.join(CLASSES)}",
        )
    assert isinstance(value, Mapping)
    times: dict[str, Any] = {
        "start_ms": members.whole("startMs", low=-(2**63)),
        "duration_ms": min(members.whole("durationMs", LONGEST_MS), LONGEST_MS),
        "given": {str(name): each for name, each in value.items()},
    }
    spec = found.read(members, times)
    members.end()
    return spec
