"""BrokerRegistration (62): register a broker with the active controller.

Sent by KRaft brokers when they start, with their endpoints, features and log directories (KIP-631).

Versions
    v1: for the migration from ZooKeeper (KIP-866).
    v2: log directory ids (KIP-858).
    v3: the epoch of the last clean shutdown (KIP-966).
    v4: feature ranges that begin at 0 (KIP-1022).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    INCONSISTENT_CLUSTER_ID: the broker belongs to another cluster.
    DUPLICATE_BROKER_REGISTRATION: another process has registered the id, and its session has not expired.
    INVALID_REGISTRATION: no log directory, a reserved or repeated one, or one of another broker.
    UNSUPPORTED_VERSION: the broker does not support a feature at the level in force.
    BROKER_ID_NOT_REGISTERED: a ZooKeeper broker that the controller does not migrate (v1).
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


class BrokerRegistrationRequest(
    Request, key=62, effect="changes", versions="0-4", flexible="0+", rights={"cluster": "ClusterAction"}
):
    broker_id = int32()
    # Must be the controller's cluster id. Any other one leads to INCONSISTENT_CLUSTER_ID.
    cluster_id = string()
    # A random id, new each time the process starts. With it the controller tells a restart from a repeated request.
    incarnation_id = uuid()

    class Listener(Struct):
        # Name of the listener, such as PLAINTEXT or EXTERNAL.
        name = string(map_key=True)
        # The advertised host.
        host = string()
        # The advertised port.
        port = uint16()
        # 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
        security_protocol = int16()

    # The advertised listeners. Metadata gives them to clients.
    listeners = array(Listener)

    class Feature(Struct):
        # Name of the feature, such as metadata.version.
        name = string(map_key=True)
        # Lowest level that this broker supports. Up to v3 features whose lowest level is 0 are left out.
        min_supported_version = int16()
        # Highest level that this broker supports. A level in force outside the range leads to UNSUPPORTED_VERSION.
        max_supported_version = int16()

    features = array(Feature)
    # The broker's broker.rack. Null: not configured.
    rack = string(nullable="0+")
    # True: a ZooKeeper broker of a cluster that migrates. Since Kafka 4.0 it leads to BROKER_ID_NOT_REGISTERED.
    is_migrating_zk_broker = boolean(versions="1+")
    # Ids of all log directories that are online. An empty list or an id of another broker leads to
    # INVALID_REGISTRATION.
    log_dirs = array(uuid(), versions="2+", ignorable=True)
    # The epoch before the last clean shutdown. -1: none, or the broker did not stop cleanly.
    previous_broker_epoch = int64(versions="3+", default=-1, ignorable=True)


class BrokerRegistrationResponse(Response, key=62, versions="0-4", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # 0: no error.
    error_code = int16()
    # The broker sends it in all later requests. It is the offset of the registration in the metadata log. -1: with an
    # error.
    broker_epoch = int64(default=-1)
