"""The beans of Kafka that this broker does not have, and why.

``tests/broker_embedded/metrics`` compares the list of a real broker with ``EmbeddedBroker.metrics`` and this table.
``docs/metrics.md`` contains it.
"""

from __future__ import annotations

_ONE_PROCESS = "Broker, controller and coordinators are one process. It has no connections to other nodes."
_ONE_THREAD = "One thread serves requests, without queues and pools: look at the CPU time of the process."
_NO_SHARE = "The broker does not serve share groups."
_NO_STREAMS = "The broker does not serve streams groups."
_NO_FOLLOWERS = "There are no followers, and no replicas that move between log directories."
_NO_TIERED = "The broker does not have tiered storage."
_NOT_TIMED = "Work in the background is not timed. The broker's log reports errors."
_NO_QUEUE = "A change of metadata is made in its request, without an event queue."
_NO_LOGIN_AGAIN = "Only first logins are counted."
_NO_RAFT = "The metadata log has one voter. It has no elections and no fetches."
_NOT_SEPARATE = "Refused batches are counted together in FailedProduceRequestsPerSec."

ABSENT: tuple[tuple[str, str], ...] = (
    ("kafka.controller:type=ControllerEventManager,*", _NO_QUEUE),
    ("kafka.controller:type=KafkaController,name=EventQueueOperations*", _NO_QUEUE),
    ("kafka.controller:type=KafkaController,name=Time*Heartbeat*", _ONE_PROCESS),
    ("kafka.coordinator.transaction:type=TransactionMarkerChannelManager,*", _ONE_PROCESS),
    ("kafka.log:type=LogCleaner,*", _NOT_TIMED),
    ("kafka.log:type=LogCleanerManager,name=max-dirty-percent", _NOT_TIMED),
    ("kafka.log:type=LogCleanerManager,name=time-since-last-run-ms", _NOT_TIMED),
    ("kafka.log:type=LogFlushStats,*", _NOT_TIMED),
    ("kafka.utils:type=Throttler,*", _NOT_TIMED),
    ("kafka.network:type=Acceptor,*", _ONE_THREAD),
    ("kafka.network:type=Processor,*", _ONE_THREAD),
    ("kafka.network:type=RequestChannel,name=ResponseQueueSize*", _ONE_THREAD),
    ("kafka.network:type=RequestMetrics,name=*Queue*", _ONE_THREAD),
    ("kafka.network:type=RequestMetrics,name=ResponseSendTimeMs,*", "Sending overlaps with the next requests."),
    ("kafka.network:type=RequestMetrics,name=MessageConversionsTimeMs,*", "Conversion is part of LocalTimeMs."),
    ("kafka.network:type=RequestMetrics,name=TemporaryMemoryBytes,*", "Conversion is part of LocalTimeMs."),
    ("kafka.network:type=SocketServer,name=*Idle*", _ONE_THREAD),
    ("kafka.network:type=SocketServer,name=Expired*", _NO_LOGIN_AGAIN),
    ("kafka.server:type=*-channel-metrics", _ONE_PROCESS),
    ("kafka.server:type=alter-partition-metrics,*", _ONE_PROCESS),
    ("kafka.server:type=directory-assignments-metrics,*", _ONE_PROCESS),
    ("kafka.server:type=forwarding-metrics,*", _ONE_PROCESS),
    ("kafka.server:type=heartbeat-metrics,*", _ONE_PROCESS),
    ("kafka.server:type=registration-metrics,*", _ONE_PROCESS),
    ("kafka.server:type=ForwardingManager", _ONE_PROCESS),
    ("kafka.server:type=AddPartitionsToTxnManager,*", _ONE_PROCESS),
    ("kafka.server:type=AssignmentsManager,*", _ONE_PROCESS),
    ("kafka.server:type=BrokerMetadataListener,*", _NO_QUEUE),
    ("kafka.server:type=BrokerTopicMetrics,name=*Share*", _NO_SHARE),
    ("kafka.server:type=BrokerTopicMetrics,name=*MessageConversionsPerSec", "Conversions are not counted."),
    ("kafka.server:type=BrokerTopicMetrics,name=InvalidMagicNumberRecordsPerSec", _NOT_SEPARATE),
    ("kafka.server:type=BrokerTopicMetrics,name=InvalidOffsetOrSequenceRecordsPerSec", _NOT_SEPARATE),
    ("kafka.server:type=BrokerTopicMetrics,name=NoKeyCompactedTopicRecordsPerSec", _NOT_SEPARATE),
    (
        "kafka.server:type=*,client-id=\\*#throttle-time",
        "ThrottleTimeMs of RequestMetrics contains the throttle times.",
    ),
    ("kafka.server:type=ControllerMutation,client-id=\\*#mutation-rate", "The tokens show the rate."),
    ("kafka.server:type=ControllerMutation", _ONE_THREAD),
    ("kafka.server:type=Fetch", _ONE_THREAD),
    ("kafka.server:type=Produce", _ONE_THREAD),
    ("kafka.server:type=Request", _ONE_THREAD),
    ("kafka.server:type=*Server,name=yammer-metrics-count", "There is one registry; its size is the number of beans."),
    ("kafka.server:type=kafka-metrics-count", "There is one registry; its size is the number of beans."),
    ("kafka.server:type=DelayedOperationPurgatory,name=*,delayedOperation=AlterAcls", _NO_QUEUE),
    ("kafka.server:type=DelayedOperationPurgatory,name=*,delayedOperation=Remote*", _NO_TIERED),
    ("kafka.server:type=DelayedOperationPurgatory,name=*,delayedOperation=ShareFetch", _NO_SHARE),
    ("kafka.server:type=FetchSessionCache,name=IncrementalFetchSessionEvictionsPerSec", "Evictions are not counted."),
    ("kafka.server:type=KafkaRequestHandlerPool,*", _ONE_THREAD),
    ("kafka.server:type=MetadataLoader,name=AvgIdleRatio", _NO_QUEUE),
    ("kafka.server:type=MetadataLoader,name=HandleLoadSnapshotCount", "Only a start loads a snapshot."),
    ("kafka.server:type=Replica*Manager,name=*,clientId=*", _NO_FOLLOWERS),
    ("kafka.server:type=Share*", _NO_SHARE),
    ("kafka.server:type=share-coordinator-metrics*", _NO_SHARE),
    ("kafka.server:type=SnapshotEmitter,*", _NOT_TIMED),
    ("kafka.server:type=app-info*#*ommit*d", "It is the commit of Kafka's source."),
    ("kafka.server:type=app-info,client-id=*", _ONE_PROCESS),
    ("kafka.server:type=group-coordinator-metrics,protocol=share", _NO_SHARE),
    ("kafka.server:type=group-coordinator-metrics,protocol=streams", _NO_STREAMS),
    ("kafka.server:type=group-coordinator-metrics,state=NotReady", _NO_STREAMS),
    ("kafka.server:type=group-coordinator-metrics*#share-*", _NO_SHARE),
    ("kafka.server:type=group-coordinator-metrics*#streams-*", _NO_STREAMS),
    ("kafka.server:type=group-coordinator-metrics#consumer-group-rebalance-*", "Only classic rebalances are counted."),
    ("kafka.server:type=group-coordinator-metrics#partition-load-time-*", _NOT_TIMED),
    ("kafka.server:type=group-coordinator-metrics#b*", _ONE_THREAD),
    ("kafka.server:type=group-coordinator-metrics#event-*", _ONE_THREAD),
    ("kafka.server:type=group-coordinator-metrics#thread-*", _ONE_THREAD),
    ("kafka.server:type=raft-metrics#*", _NO_RAFT),
    ("kafka.server:type=socket-server-metrics#MemoryPool*", "SocketServer has the memory pool's use."),
    ("kafka.server:type=socket-server-metrics,clientSoftware*", "Clients choose these names, so they are no labels."),
    ("kafka.server:type=socket-server-metrics,listener=\\*#*throttle-time", "Delays of connections are not timed."),
    ("kafka.server:type=socket-server-metrics,*#*reauth*", _NO_LOGIN_AGAIN),
    ("kafka.server:type=socket-server-metrics,*#expired-*", _NO_LOGIN_AGAIN),
    ("kafka.server:type=socket-server-metrics,*#io-*", _ONE_THREAD),
    ("kafka.server:type=socket-server-metrics,*#network-io-*", _ONE_THREAD),
    ("kafka.server:type=socket-server-metrics,*#select-*", _ONE_THREAD),
    ("kafka.server:type=socket-server-metrics,*#request-size-*", "RequestBytes of RequestMetrics has the sizes."),
    ("kafka.server:type=transaction-coordinator-metrics", _NOT_TIMED),
    ("kafka:type=kafka.Log4jController", "kafka-configs --entity-type broker-loggers changes log levels."),
)
"""(pattern of a bean or of ``bean#attribute``, reason). ``*`` stands for any text and ``\\\\*`` for a star."""
