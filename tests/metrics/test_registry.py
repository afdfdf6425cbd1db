"""Sensors, the registry and its reporters."""

from __future__ import annotations

import logging
import threading

import pytest

from kafka_tools.clock import ManualClock
from kafka_tools.metrics.beans import BeanReporter
from kafka_tools.metrics.compound import Meter
from kafka_tools.metrics.cumulative import CumulativeCount, CumulativeSum, Value
from kafka_tools.metrics.metric import CurrentNumber, Gauge, Metric
from kafka_tools.metrics.names import MetricConfig, MetricName, Quota, QuotaViolation
from kafka_tools.metrics.registry import Metrics
from kafka_tools.metrics.sampled import Avg, Max, Rate


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def metrics(clock: ManualClock) -> Metrics:
    return Metrics(clock)


def values(metrics: Metrics) -> dict[str, object]:
    return {name.name: metric.value() for name, metric in metrics.metrics().items()}


@pytest.mark.req("MET-1")
def test_a_sensor_keeps_its_metrics_in_the_order_in_which_they_were_added(metrics: Metrics) -> None:
    sensor = metrics.sensor("requests")
    for name in ("b", "c", "a"):
        assert sensor.add(metrics.name(name, "g"), CumulativeSum())
    assert [metric.name.name for metric in sensor.metrics()] == ["b", "c", "a"]


@pytest.mark.req("MET-1")
def test_adding_a_name_again_succeeds_and_changes_nothing(metrics: Metrics) -> None:
    sensor = metrics.sensor("requests")
    sensor.add(metrics.name("total", "g"), CumulativeSum())
    before = sensor.metrics()
    assert sensor.add(metrics.name("total", "g"), Value())
    sensor.record(2)
    sensor.record(3)
    assert sensor.metrics() == before
    assert values(metrics)["total"] == 5  # counted once, by the first stat
    assert sensor.add_compound(Meter(metrics.name("rate", "g"), metrics.name("total", "g")))
    assert [metric.name.name for metric in sensor.metrics()] == ["total", "rate"]


@pytest.mark.req("MET-1")
def test_an_expired_sensor_takes_no_metric(metrics: Metrics, clock: ManualClock) -> None:
    sensor = metrics.sensor("requests", expiry_s=60)
    clock.advance(60)
    assert sensor.add(metrics.name("in time", "g"), Value())
    clock.advance(0.001)
    assert not sensor.add(metrics.name("late", "g"), Value())
    assert not sensor.add_compound(Meter(metrics.name("rate", "g"), metrics.name("total", "g")))
    assert list(values(metrics)) == ["count", "in time"]
    sensor.record(1)  # a value revives it
    assert sensor.add(metrics.name("late", "g"), Value())


def test_expired_sensors_are_removed_with_metrics_and_children(metrics: Metrics, clock: ManualClock) -> None:
    parent = metrics.sensor("parent", expiry_s=10)
    child = metrics.sensor("child", parents=[parent])
    other = metrics.sensor("other")
    for sensor in (parent, child, other):
        sensor.add(metrics.name(sensor.name, "g"), Value())
    assert metrics.remove_expired() == 0
    clock.advance(11)
    assert metrics.remove_expired() == 1
    assert list(values(metrics)) == ["count", "other"]
    assert metrics.find_sensor("child") is None
    assert metrics.sensor("parent") is not parent


@pytest.mark.req("MET-2")
def test_a_name_that_exists_is_an_error_with_kafkas_text(metrics: Metrics) -> None:
    name = metrics.name("total", "producer-metrics", "Any text.", {"client-id": "a"})
    metrics.add_metric(name, Value())
    same = MetricName("total", "producer-metrics", "Another text.", {"client-id": "a"})
    with pytest.raises(ValueError) as told:
        metrics.sensor("requests").add(same, Value())
    assert str(told.value) == (
        "A metric named 'MetricName [name=total, group=producer-metrics, tags={client-id=a}]' already exists, "
        "can't register another one."
    )
    assert metrics.sensor("requests").metrics() == []
    metrics.add_metric(metrics.name("total", "producer-metrics", tags={"client-id": "b"}), Value())  # another name


class Broken:
    """A reporter that fails always."""

    def added(self, metric: Metric) -> None:
        raise RuntimeError("added")

    def removed(self, metric: Metric) -> None:
        raise RuntimeError("removed")

    def close(self) -> None:
        raise RuntimeError("close")


class Told:
    def __init__(self) -> None:
        self.events: list[str] = []

    def added(self, metric: Metric) -> None:
        self.events.append(f"+{metric.name.name}")

    def removed(self, metric: Metric) -> None:
        self.events.append(f"-{metric.name.name}")

    def close(self) -> None:
        self.events.append("close")


@pytest.mark.req("MET-3")
def test_a_reporter_that_fails_is_logged_and_stops_no_other(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    told = Told()
    with caplog.at_level(logging.ERROR, "kafka_tools.metrics"):
        metrics = Metrics(clock, reporters=[Broken(), told])
        name = metrics.name("total", "g")
        metrics.add_metric(name, Value())
        assert metrics.remove_metric(name) is not None
        metrics.close()
    assert told.events == ["+count", "+total", "-total", "close"]
    assert [record.getMessage() for record in caplog.records] == [
        "error when registering a metric on Broken",
        "error when registering a metric on Broken",
        "error when removing a metric from Broken",
        "error when closing Broken",
    ]


def test_a_reporter_that_comes_late_is_told_of_all_metrics(metrics: Metrics) -> None:
    metrics.add_metric(metrics.name("total", "g"), Value())
    told = Told()
    metrics.add_reporter(told)
    assert told.events == ["+count", "+total"]


@pytest.mark.req("MET-4")
def test_all_metrics_of_a_sensor_share_the_lock_of_the_sensor(metrics: Metrics) -> None:
    sensor = metrics.sensor("requests")
    sensor.add(metrics.name("avg", "g"), Avg())
    sensor.add_compound(Meter(metrics.name("rate", "g"), metrics.name("total", "g")))
    assert {id(metric.lock) for metric in sensor.metrics()} == {id(sensor.lock)}
    for metric in sensor.metrics():
        done = threading.Event()
        reader = threading.Thread(target=lambda metric=metric, done=done: (metric.value(), done.set()))
        with sensor.lock:  # a reader waits while a value is being recorded
            reader.start()
            assert not done.wait(0.02)
        assert done.wait(30)
        reader.join()


@pytest.mark.req("MET-5")
def test_a_metric_that_is_not_measurable_is_zero_as_a_number(metrics: Metrics) -> None:
    version = metrics.add_metric(metrics.name("version", "app-info"), Gauge(lambda now_ms: "1.2.3"))
    assert version.value() == "1.2.3"
    assert not version.is_measurable
    assert version.measured(0) == 0.0
    with pytest.raises(TypeError, match="the metric version is not measurable"):
        _ = version.measurable
    queue = metrics.add_metric(metrics.name("queue", "g"), CurrentNumber(lambda now_ms: 7))
    assert (queue.is_measurable, queue.value(), queue.measured(0)) == (True, 7, 7)


@pytest.mark.req("MET-6")
def test_attributes_of_beans_are_computed_when_they_are_asked_for(clock: ManualClock) -> None:
    class Counted(MetricName):
        asked = 0

        @property
        def description(self) -> str:  # type: ignore[override]
            Counted.asked += 1
            return "The size."

        @description.setter
        def description(self, text: str) -> None: ...

    reporter = BeanReporter("kafka.server")
    metrics = Metrics(clock, reporters=[reporter])
    for number in range(100):
        metrics.add_metric(Counted(f"size-{number}", "queues"), Value())
    bean = reporter.beans()["kafka.server:type=queues"]
    assert Counted.asked == 0
    attributes = bean.attributes()
    assert (len(attributes), attributes[7], Counted.asked) == (100, ("size-7", "The size."), 100)
    assert bean.attributes() == attributes
    assert Counted.asked == 100  # once, not at each question
    metrics.remove_metric(MetricName("size-7", "queues"))
    assert [attribute.name for attribute in bean.attributes()][6:8] == ["size-6", "size-8"]


def test_a_bean_has_the_metrics_of_one_group_and_set_of_tags(clock: ManualClock) -> None:
    reporter = BeanReporter("kafka.producer")
    metrics = Metrics(clock, MetricConfig(tags={"client-id": "a b/c"}), [reporter])
    sensor = metrics.sensor("sent")
    sensor.add(metrics.name("record-send-total", "producer-topic-metrics", tags={"topic": "t"}), CumulativeCount())
    sensor.add(metrics.name("record-size-max", "producer-topic-metrics", tags={"topic": "t"}), Max())
    sensor.record(100)
    sensor.record(50)
    name = 'kafka.producer:type=producer-topic-metrics,client-id="a b/c",topic=t'
    assert list(reporter.beans()) == ['kafka.producer:type=kafka-metrics-count,client-id="a b/c"', name]
    bean = reporter.beans()[name]
    assert bean.values() == {"record-send-total": 2, "record-size-max": 100}
    assert bean.value("record-size-max") == 100
    with pytest.raises(KeyError):
        bean.value("unknown")
    metrics.remove_sensor("sent")
    assert name not in reporter.beans()
    metrics.close()
    assert reporter.beans() == {}


@pytest.mark.req("MET-8")
def test_quota_checks_run_over_all_metrics_of_a_sensor(metrics: Metrics) -> None:
    sensor = metrics.sensor("bytes")
    sensor.add(metrics.name("largest", "g"), Max(), MetricConfig(quota=Quota(100)))
    sensor.add(metrics.name("free", "g"), CumulativeSum())
    sensor.add_compound(
        Meter(metrics.name("rate", "g"), metrics.name("total", "g")), MetricConfig(quota=Quota(0, is_upper=False))
    )
    sensor.add(metrics.name("sum", "g"), CumulativeSum(), MetricConfig(quota=Quota(150)))
    sensor.record(100)
    with pytest.raises(QuotaViolation) as told:
        sensor.record(60)  # 160 in all: the last metric of the sensor
    assert (told.value.metric.name.name, told.value.value, told.value.bound) == ("sum", 160, 150)
    assert str(told.value) == (
        "'MetricName [name=sum, group=g, tags={}]' violated quota. Actual: 160.000000, Threshold: 150.000000"
    )
    assert values(metrics)["free"] == 160  # recorded nevertheless
    sensor.record(-400, check_quotas=False)
    with pytest.raises(QuotaViolation) as told:
        sensor.check_quotas()
    assert told.value.metric.name.name == "total"  # the lower bound of a compound stat


def test_a_quota_can_change_while_the_metric_is_in_use(metrics: Metrics) -> None:
    sensor = metrics.sensor("bytes")
    name = metrics.name("rate", "g")
    sensor.add(name, Rate(), MetricConfig(samples=2, window_ms=1000))
    sensor.record(5000)
    metric = metrics.metric(name)
    assert metric is not None
    metric.config = MetricConfig(samples=2, window_ms=1000, quota=Quota(1000))
    with pytest.raises(QuotaViolation):
        sensor.check_quotas()


def test_parents_record_every_value(metrics: Metrics) -> None:
    top = metrics.sensor("top")
    middle = metrics.sensor("middle", parents=[top])
    low = metrics.sensor("low", parents=[middle])
    for sensor in (top, middle, low):
        sensor.add(metrics.name(sensor.name, "g"), CumulativeSum())
    low.record(1)
    middle.record(2)
    assert values(metrics) == {"count": 4, "top": 3, "middle": 3, "low": 1}
    with pytest.raises(ValueError, match="top is its own parent"):
        metrics.sensor("twice", parents=[top, low])
    assert metrics.sensor("low") is low
