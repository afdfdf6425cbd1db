"""BrokerFault: a fault of the bundled broker that this process runs (``kafka_tools.broker_embedded.faults``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafka_tools.clock import Clock
from kafka_tools.errors import InputError
from kafka_tools.load.platform import Platform
from kafka_tools.load.specs.fault_specs import BrokerFaultSpec
from kafka_tools.load.workloads.task_worker import TaskWorker

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.faults.fault import Fault
    from kafka_tools.broker_embedded.faults.vocabulary import Faults

_METHODS = {"shortWrite": "short_write"}


class BrokerFaultWorker(TaskWorker):
    """See the module."""

    def __init__(self, task_id: str, platform: Platform, clock: Clock, spec: BrokerFaultSpec) -> None:
        super().__init__(task_id, platform, clock)
        self._spec = spec
        self._fault: Fault | None = None

    def run(self) -> None:
        broker = self.platform.broker
        if broker is None:
            raise InputError(
                f"node {self.platform.node} has no bundled broker", hint='add "broker": {} to the document or the node'
            )
        if self._spec.fault == "down":
            broker.faults.down()
            try:
                self.stopping.wait()
            finally:
                broker.faults.up()
            return
        self._fault = self._add(broker.faults)
        try:
            self.stopping.wait()
        finally:
            self._fault.remove()

    def _add(self, faults: Faults) -> Fault:
        spec = self._spec
        method: Callable[..., Fault] = getattr(faults, _METHODS.get(spec.fault, spec.fault))
        try:
            return method(spec.api, **spec.arguments)
        except ValueError as error:
            raise InputError(f"invalid fault '{spec.fault}': {error}") from error

    def status(self) -> Any:
        return None if self._fault is None else {"hits": self._fault.hits}
