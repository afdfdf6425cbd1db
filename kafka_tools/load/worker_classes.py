"""Specification → the worker that performs it."""

from __future__ import annotations

from kafka_tools.clock import Clock
from kafka_tools.load.platform import Platform
from kafka_tools.load.specs import fault_specs, workload_specs
from kafka_tools.load.specs.task_spec import TaskSpec
from kafka_tools.load.workloads.task_worker import NoOpWorker, TaskWorker


def worker_of(task_id: str, spec: TaskSpec, platform: Platform, clock: Clock) -> TaskWorker:
    """The worker. Modules of clients and of the broker are imported only for the tasks that use them."""
    match spec:
        case workload_specs.ProduceBenchSpec():
            from kafka_tools.load.workloads.produce_bench import ProduceBenchWorker

            return ProduceBenchWorker(task_id, platform, clock, spec)
        case workload_specs.RoundTripSpec():
            from kafka_tools.load.workloads.round_trip import RoundTripWorker

            return RoundTripWorker(task_id, platform, clock, spec)
        case workload_specs.ConsumeBenchSpec():
            from kafka_tools.load.workloads.consume_bench import ConsumeBenchWorker

            return ConsumeBenchWorker(task_id, platform, clock, spec)
        case workload_specs.SustainedConnectionSpec():
            from kafka_tools.load.workloads.sustained_connection import SustainedConnectionWorker

            return SustainedConnectionWorker(task_id, platform, clock, spec)
        case workload_specs.ConfigurableProducerSpec():
            from kafka_tools.load.workloads.configurable_producer import ConfigurableProducerWorker

            return ConfigurableProducerWorker(task_id, platform, clock, spec)
        case fault_specs.ProcessStopSpec():
            from kafka_tools.load.faults.process_stop import ProcessStopWorker

            return ProcessStopWorker(task_id, platform, clock, spec)
        case fault_specs.NetworkPartitionSpec():
            from kafka_tools.load.faults.network_partition import NetworkPartitionWorker

            return NetworkPartitionWorker(task_id, platform, clock, spec)
        case fault_specs.BrokerFaultSpec():
            from kafka_tools.load.faults.broker_fault import BrokerFaultWorker

            return BrokerFaultWorker(task_id, platform, clock, spec)
        case _:
            return NoOpWorker(task_id, platform, clock)
