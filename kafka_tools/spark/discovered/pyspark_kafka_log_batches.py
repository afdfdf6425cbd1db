"""Spark finds the data source ``kafka_log_batches`` by this module's name. It imports its class and never raises:
an exception here would break every data source of the environment."""

try:
    from kafka_tools.spark.source import KafkaLogBatches as DefaultSource
except Exception:  # noqa: BLE001  # whatever is wrong with our packages is ours alone
    pass
else:
    __all__ = ["DefaultSource"]
