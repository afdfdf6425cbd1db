"""The broker's metrics. Owners of state count (``counts``); ``beans`` turns counts and state into Kafka's metrics.

Counting is an addition to an integer wherever a request passes. Rates, percentiles and everything that can be read from
the state are computed when somebody asks.
"""
