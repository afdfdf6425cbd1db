"""Metrics of clients and broker: sensors, stats, quotas, reporters (Kafka: ``org.apache.kafka.common.metrics``).

A ``Metrics`` registry contains metrics by ``MetricName``. Code records values in a ``Sensor``, which passes them to its
stats. A reporter is told of each metric that is added or removed. ``moving`` contains the stats of Kafka's second
library, Yammer metrics, which most of the broker's metrics use.
"""
