"""BrokerHeartbeat (63): keep the session of a broker, and ask to be unfenced or to shut down.

Sent by KRaft brokers to the active controller (KIP-631).

Versions
    v1: failed log directories (KIP-858).
    v2: cordoned log directories (KIP-1066).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    STALE_BROKER_EPOCH: the broker is not registered, or has registered again with another epoch.
    REQUEST_TIMED_OUT: the heartbeat waited too long in the queue of the controller. It still counts as a sign of life.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, array, boolean, int16, int32, int64, uuid


class BrokerHeartbeatRequest(
    Request, key=63, effect="changes", versions="0-2", flexible="0+", rights={"cluster": "ClusterAction"}
):
    broker_id = int32()
    # The epoch that the controller assigned when the broker registered. Another one leads to STALE_BROKER_EPOCH.
    broker_epoch = int64(default=-1)
    # Highest offset of the metadata log that the broker has applied. It must reach the broker's registration before
    # unfencing.
    current_metadata_offset = int64()
    # True: the broker wants to stay or become fenced. False: it is ready to serve clients.
    want_fence = boolean()
    # True: the broker wants to stop. The controller then moves the leaders away from it.
    want_shut_down = boolean()
    # Ids of log directories that have failed since the broker started. The controller elects other leaders for their
    # replicas.
    offline_log_dirs = array(uuid(), versions="1+", tag=0)
    # Ids of all log directories that must not get new replicas. Null: no change.
    cordoned_log_dirs = array(uuid(), versions="2+", nullable="2+", default=None, tag=1)


class BrokerHeartbeatResponse(Response, key=63, versions="0-2", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # 0: no error.
    error_code = int16()
    # True: current_metadata_offset has reached the broker's registration.
    is_caught_up = boolean()
    # True: the broker must not serve clients, and leads no partition.
    is_fenced = boolean(default=True)
    # True: the broker no longer leads any partition and may stop. Sent only after want_shut_down.
    should_shut_down = boolean()
