"""The stats of ``kafka_tools.metrics`` beside Kafka's classes: equal values at equal times give equal numbers."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kafka_tools.clock import ManualClock
from kafka_tools.metrics.compound import Meter, Percentiles
from kafka_tools.metrics.cumulative import CumulativeCount, CumulativeSum, Value
from kafka_tools.metrics.names import MetricConfig, MetricName
from kafka_tools.metrics.registry import Metrics
from kafka_tools.metrics.sampled import Avg, Max, Min, Rate, SimpleRate, WindowedCount, WindowedSum
from kafka_tools.metrics.sensor import Sensor
from tests.against_kafka.java_programs import Lines

ROUNDS, STEPS = 25, 120


def all_stats(config: MetricConfig) -> tuple[Sensor, list[MetricName]]:
    """A sensor with every stat, and the names in the order of ``MetricStats.java``."""
    metrics = Metrics(ManualClock(0), config)
    sensor = metrics.sensor("s")
    names: list[MetricName] = []

    def name(text: str) -> MetricName:
        names.append(metrics.name(text, "g"))
        return names[-1]

    sensor.add(name("value"), Value())
    sensor.add(name("cumulative-sum"), CumulativeSum())
    sensor.add(name("cumulative-count"), CumulativeCount())
    sensor.add(name("windowed-sum"), WindowedSum())
    sensor.add(name("windowed-count"), WindowedCount())
    sensor.add(name("avg"), Avg())
    sensor.add(name("max"), Max())
    sensor.add(name("min"), Min())
    sensor.add(name("rate"), Rate())
    sensor.add(name("rate-per-minute"), Rate(WindowedCount(), 60_000))
    sensor.add(name("simple-rate"), SimpleRate())
    rate = name("meter-rate")
    sensor.add_compound(Meter(rate, name("meter-total"), WindowedCount()))
    parts = [(name(f"constant-{each}"), float(each)) for each in (10, 50, 99)]
    sensor.add_compound(Percentiles.constant(parts, 50, -20, 1000))
    parts = [(name(f"linear-{each}"), float(each)) for each in (25, 75, 100)]
    sensor.add_compound(Percentiles.linear(parts, 100, 2000))
    return sensor, names


def test_every_stat_gives_kafkas_numbers(tmp_path: Path) -> None:
    with Lines.start("MetricStats", tmp_path) as kafka:
        for seed in range(ROUNDS):
            chance = random.Random(seed)
            samples, window_ms = chance.choice(((2, 30_000), (11, 1000), (1, 1000), (3, 500)))
            events = chance.choice((2**63 - 1, 7))
            kafka.ask(f"config {samples} {window_ms} {events}")
            sensor, names = all_stats(MetricConfig(samples, window_ms, events))
            now_ms = 0
            for step in range(STEPS):
                now_ms += chance.choice((0, 0, 1, 10, 400, 1000, 1001, 5000, window_ms, samples * window_ms))
                if chance.random() < 0.7:
                    value = chance.choice((0.0, 1.0, 2.5, 99.9, 500.0, 1999.0, chance.random() * 1000))
                    sensor.record(value, now_ms)
                    kafka.ask(f"record {now_ms} {value!r}")
                    continue
                theirs = [float(text) for text in kafka.ask(f"measure {now_ms}").split()]
                metrics = {metric.name: metric for metric in sensor.metrics()}
                ours = [metrics[name].measured(now_ms) for name in names]
                assert ours == pytest.approx(theirs, rel=1e-12, nan_ok=True), f"seed {seed}, step {step}"
