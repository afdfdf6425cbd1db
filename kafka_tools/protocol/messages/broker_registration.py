"""BrokerRegistration (62): a broker registers with the active controller.

Sent by KRaft brokers when they start, with their endpoints, features and log directories (KIP-631).

Versions
    v1: for the migration from ZooKeeper (KIP-866).
    v2: log directory ids (KIP-858).
    v3: the epoch of the last clean shutdown (KIP-966).
    v4: feature ranges that begin at 0 (KIP-1022).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    string,
    uint16,
    uuid,
)


class BrokerRegistrationRequest(Request, key=62, versions="0-4", flexible="0+"):
    broker_id = int32()
    cluster_id = string()
    incarnation_id = uuid()

    class Listener(Struct):
        name = string(map_key=True)
        host = string()
        port = uint16()
        security_protocol = int16()

    listeners = array(Listener)

    class Feature(Struct):
        name = string(map_key=True)
        min_supported_version = int16()
        max_supported_version = int16()

    features = array(Feature)
    rack = string(nullable="0+")
    is_migrating_zk_broker = boolean(versions="1+")
    log_dirs = array(uuid(), versions="2+", ignorable=True)
    previous_broker_epoch = int64(versions="3+", default=-1, ignorable=True)


class BrokerRegistrationResponse(Response, key=62, versions="0-4", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    broker_epoch = int64(default=-1)
