"""Configs that ZooKeeper may hold, by release: from ``python -m tests.config_releases``; do not edit.

A table says from which release on a name has which row (``config_definitions.Row``), None from where it is gone; a set
says which names each release adds, and with a minus which it drops. ``zookeeper_releases`` reads both.
"""

from __future__ import annotations

from kafka_tools.config_definitions import Row

Table = dict[str, dict[str, Row | None]]
Names = dict[str, str]

RELEASES = (
    "1.1",
    "2.0",
    "2.1",
    "2.2",
    "2.3",
    "2.4",
    "2.5",
    "2.6",
    "2.7",
    "2.8",
    "3.0",
    "3.1",
    "3.2",
    "3.3",
    "3.4",
    "3.5",
    "3.6",
    "3.7",
    "3.8",
    "3.9",
)

TOPIC: Table = {
    "cleanup.policy": {"1.1": ("LIST", "delete", "[compact, delete]")},
    "compression.gzip.level": {"3.8": ("INT", "-1", "[1,...,9] or -1")},
    "compression.lz4.level": {"3.8": ("INT", "9", "[1,...,17]")},
    "compression.type": {
        "1.1": ("STRING", "producer", "[uncompressed, snappy, lz4, gzip, producer]"),
        "2.1": ("STRING", "producer", "[uncompressed, zstd, lz4, snappy, gzip, producer]"),
    },
    "compression.zstd.level": {"3.8": ("INT", "3", "[-131072,...,22]")},
    "delete.retention.ms": {"1.1": ("LONG", "86400000", "[0,...]")},
    "file.delete.delay.ms": {"1.1": ("LONG", "60000", "[0,...]")},
    "flush.messages": {
        "1.1": ("LONG", "9223372036854775807", "[0,...]"),
        "3.3": ("LONG", "9223372036854775807", "[1,...]"),
    },
    "flush.ms": {"1.1": ("LONG", "9223372036854775807", "[0,...]")},
    "follower.replication.throttled.replicas": {
        "1.1": ("LIST", "", "[partitionId]:[brokerId],[partitionId]:[brokerId],...")
    },
    "index.interval.bytes": {"1.1": ("INT", "4096", "[0,...]")},
    "leader.replication.throttled.replicas": {
        "1.1": ("LIST", "", "[partitionId]:[brokerId],[partitionId]:[brokerId],...")
    },
    "local.retention.bytes": {"3.0": ("LONG", "-2", "[-2,...]", "internal"), "3.6": ("LONG", "-2", "[-2,...]")},
    "local.retention.ms": {"3.0": ("LONG", "-2", "[-2,...]", "internal"), "3.6": ("LONG", "-2", "[-2,...]")},
    "max.compaction.lag.ms": {"2.3": ("LONG", "9223372036854775807", "[1,...]")},
    "max.message.bytes": {"1.1": ("INT", "1000012", "[0,...]"), "2.5": ("INT", "1048588", "[0,...]")},
    "message.downconversion.enable": {"2.0": ("BOOLEAN", "true", "")},
    "message.format.version": {
        "1.1": ("STRING", "1.1-IV0", "a Kafka version"),
        "2.0": ("STRING", "2.0-IV1", "a Kafka version"),
        "2.1": ("STRING", "2.1-IV2", "a Kafka version"),
        "2.2": ("STRING", "2.2-IV1", "a Kafka version"),
        "2.3": ("STRING", "2.3-IV1", "a Kafka version"),
        "2.4": ("STRING", "2.4-IV1", "a Kafka version"),
        "2.5": ("STRING", "2.5-IV0", "a Kafka version"),
        "2.6": ("STRING", "2.6-IV0", "a Kafka version"),
        "2.7": ("STRING", "2.7-IV2", "a Kafka version"),
        "2.8": ("STRING", "2.8-IV1", "a Kafka version"),
        "3.0": ("STRING", "3.0-IV1", "a Kafka version"),
    },
    "message.timestamp.after.max.ms": {"3.6": ("LONG", "9223372036854775807", "[0,...]")},
    "message.timestamp.before.max.ms": {"3.6": ("LONG", "9223372036854775807", "[0,...]")},
    "message.timestamp.difference.max.ms": {"1.1": ("LONG", "9223372036854775807", "[0,...]")},
    "message.timestamp.type": {"1.1": ("STRING", "CreateTime", "[CreateTime, LogAppendTime]")},
    "min.cleanable.dirty.ratio": {"1.1": ("DOUBLE", "0.5", "[0,...,1]")},
    "min.compaction.lag.ms": {"1.1": ("LONG", "0", "[0,...]")},
    "min.insync.replicas": {"1.1": ("INT", "1", "[1,...]")},
    "preallocate": {"1.1": ("BOOLEAN", "false", "")},
    "remote.log.copy.disable": {"3.9": ("BOOLEAN", "false", "")},
    "remote.log.delete.on.disable": {"3.9": ("BOOLEAN", "false", "")},
    "remote.storage.enable": {"3.0": ("BOOLEAN", "false", "", "internal"), "3.6": ("BOOLEAN", "false", "")},
    "retention.bytes": {"1.1": ("LONG", "-1", "")},
    "retention.ms": {"1.1": ("LONG", "604800000", ""), "2.2": ("LONG", "604800000", "[-1,...]")},
    "segment.bytes": {"1.1": ("INT", "1073741824", "[14,...]")},
    "segment.index.bytes": {"1.1": ("INT", "10485760", "[0,...]"), "3.3": ("INT", "10485760", "[4,...]")},
    "segment.jitter.ms": {"1.1": ("LONG", "0", "[0,...]")},
    "segment.ms": {"1.1": ("LONG", "604800000", "[0,...]"), "2.0": ("LONG", "604800000", "[1,...]")},
    "unclean.leader.election.enable": {"1.1": ("BOOLEAN", "false", "")},
}
"""Configs of topics."""

CLIENT: Table = {
    "consumer_byte_rate": {"1.1": ("LONG", "9223372036854775807", "")},
    "controller_mutation_rate": {"2.7": ("DOUBLE", "2.147483647E9", "")},
    "producer_byte_rate": {"1.1": ("LONG", "9223372036854775807", "")},
    "request_percentage": {"1.1": ("DOUBLE", "2.147483647E9", "")},
}
"""Quotas of clients, and of users and clients together."""

USER: Table = {
    "SCRAM-SHA-256": {"1.1": ("STRING", None, "")},
    "SCRAM-SHA-512": {"1.1": ("STRING", None, "")},
    "consumer_byte_rate": {"1.1": ("LONG", "9223372036854775807", "")},
    "controller_mutation_rate": {"2.7": ("DOUBLE", "2.147483647E9", "")},
    "producer_byte_rate": {"1.1": ("LONG", "9223372036854775807", "")},
    "request_percentage": {"1.1": ("DOUBLE", "2.147483647E9", "")},
}
"""Quotas and credentials of users."""

IP: Table = {"connection_creation_rate": {"2.8": ("INT", "2147483647", "[0,...]")}}
"""Quotas of addresses."""

BROKER: Table = {
    "advertised.listeners": {"1.1": ("STRING", None, "")},
    "background.threads": {"1.1": ("INT", "10", "[1,...]")},
    "compression.gzip.level": {"3.8": ("INT", "-1", "[1,...,9] or -1")},
    "compression.lz4.level": {"3.8": ("INT", "9", "[1,...,17]")},
    "compression.type": {
        "1.1": ("STRING", "producer", ""),
        "3.3": ("STRING", "producer", "[uncompressed, zstd, lz4, snappy, gzip, producer]"),
    },
    "compression.zstd.level": {"3.8": ("INT", "3", "[-131072,...,22]")},
    "follower.replication.throttled.rate": {"1.1": ("LONG", "9223372036854775807", "[0,...]")},
    "leader.replication.throttled.rate": {"1.1": ("LONG", "9223372036854775807", "[0,...]")},
    "listener.security.protocol.map": {
        "1.1": ("STRING", "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL", "")
    },
    "listeners": {"1.1": ("STRING", None, ""), "3.0": ("STRING", "PLAINTEXT://:9092", "")},
    "log.cleaner.backoff.ms": {"1.1": ("LONG", "15000", "[0,...]")},
    "log.cleaner.dedupe.buffer.size": {"1.1": ("LONG", "134217728", "")},
    "log.cleaner.delete.retention.ms": {"1.1": ("LONG", "86400000", ""), "3.3": ("LONG", "86400000", "[0,...]")},
    "log.cleaner.io.buffer.load.factor": {"1.1": ("DOUBLE", "0.9", "")},
    "log.cleaner.io.buffer.size": {"1.1": ("INT", "524288", "[0,...]")},
    "log.cleaner.io.max.bytes.per.second": {"1.1": ("DOUBLE", "1.7976931348623157E308", "")},
    "log.cleaner.max.compaction.lag.ms": {
        "2.3": ("LONG", "9223372036854775807", ""),
        "3.3": ("LONG", "9223372036854775807", "[1,...]"),
    },
    "log.cleaner.min.cleanable.ratio": {"1.1": ("DOUBLE", "0.5", ""), "3.3": ("DOUBLE", "0.5", "[0,...,1]")},
    "log.cleaner.min.compaction.lag.ms": {"1.1": ("LONG", "0", ""), "3.3": ("LONG", "0", "[0,...]")},
    "log.cleaner.threads": {"1.1": ("INT", "1", "[0,...]")},
    "log.cleanup.policy": {"1.1": ("LIST", "delete", "[compact, delete]")},
    "log.flush.interval.messages": {"1.1": ("LONG", "9223372036854775807", "[1,...]")},
    "log.flush.interval.ms": {"1.1": ("LONG", None, "")},
    "log.index.interval.bytes": {"1.1": ("INT", "4096", "[0,...]")},
    "log.index.size.max.bytes": {"1.1": ("INT", "10485760", "[4,...]")},
    "log.local.retention.bytes": {"3.6": ("LONG", "-2", "[-2,...]")},
    "log.local.retention.ms": {"3.6": ("LONG", "-2", "[-2,...]")},
    "log.message.downconversion.enable": {"2.0": ("BOOLEAN", "true", "")},
    "log.message.timestamp.after.max.ms": {"3.6": ("LONG", "9223372036854775807", "[0,...]")},
    "log.message.timestamp.before.max.ms": {"3.6": ("LONG", "9223372036854775807", "[0,...]")},
    "log.message.timestamp.difference.max.ms": {
        "1.1": ("LONG", "9223372036854775807", ""),
        "3.3": ("LONG", "9223372036854775807", "[0,...]"),
    },
    "log.message.timestamp.type": {"1.1": ("STRING", "CreateTime", "[CreateTime, LogAppendTime]")},
    "log.preallocate": {"1.1": ("BOOLEAN", "false", "")},
    "log.retention.bytes": {"1.1": ("LONG", "-1", "")},
    "log.retention.ms": {"1.1": ("LONG", None, "")},
    "log.roll.jitter.ms": {"1.1": ("LONG", None, "")},
    "log.roll.ms": {"1.1": ("LONG", None, "")},
    "log.segment.bytes": {"1.1": ("INT", "1073741824", "[14,...]")},
    "log.segment.delete.delay.ms": {"1.1": ("LONG", "60000", "[0,...]")},
    "max.connection.creation.rate": {"2.7": ("INT", "2147483647", "[0,...]")},
    "max.connections": {"2.3": ("INT", "2147483647", "[0,...]")},
    "max.connections.per.ip": {"2.1": ("INT", "2147483647", "[0,...]")},
    "max.connections.per.ip.overrides": {"2.1": ("STRING", "", "")},
    "message.max.bytes": {"1.1": ("INT", "1000012", "[0,...]"), "2.5": ("INT", "1048588", "[0,...]")},
    "metric.reporters": {"1.1": ("LIST", "", "")},
    "min.insync.replicas": {"1.1": ("INT", "1", "[1,...]")},
    "num.io.threads": {"1.1": ("INT", "8", "[1,...]")},
    "num.network.threads": {"1.1": ("INT", "3", "[1,...]")},
    "num.recovery.threads.per.data.dir": {"1.1": ("INT", "1", "[1,...]")},
    "num.replica.fetchers": {"1.1": ("INT", "1", "")},
    "principal.builder.class": {
        "1.1": ("CLASS", None, ""),
        "3.0": ("CLASS", "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder", ""),
    },
    "producer.id.expiration.ms": {"3.4": ("INT", "86400000", "[1,...]")},
    "remote.fetch.max.wait.ms": {"3.8": ("INT", "500", "[1,...]")},
    "remote.log.index.file.cache.total.size.bytes": {"3.7": ("LONG", "1073741824", "[1,...]")},
    "remote.log.manager.copy.max.bytes.per.second": {"3.8": ("LONG", "9223372036854775807", "[1,...]")},
    "remote.log.manager.fetch.max.bytes.per.second": {"3.8": ("LONG", "9223372036854775807", "[1,...]")},
    "replica.alter.log.dirs.io.max.bytes.per.second": {"1.1": ("LONG", "9223372036854775807", "[0,...]")},
    "sasl.enabled.mechanisms": {"1.1": ("LIST", "GSSAPI", "")},
    "sasl.jaas.config": {"1.1": ("PASSWORD", None, "")},
    "sasl.kerberos.kinit.cmd": {"1.1": ("STRING", "/usr/bin/kinit", "")},
    "sasl.kerberos.min.time.before.relogin": {"1.1": ("LONG", "60000", "")},
    "sasl.kerberos.principal.to.local.rules": {"1.1": ("LIST", "DEFAULT", "")},
    "sasl.kerberos.service.name": {"1.1": ("STRING", None, "")},
    "sasl.kerberos.ticket.renew.jitter": {"1.1": ("DOUBLE", "0.05", "")},
    "sasl.kerberos.ticket.renew.window.factor": {"1.1": ("DOUBLE", "0.8", "")},
    "sasl.login.refresh.buffer.seconds": {"2.0": ("SHORT", "300", "")},
    "sasl.login.refresh.min.period.seconds": {"2.0": ("SHORT", "60", "")},
    "sasl.login.refresh.window.factor": {"2.0": ("DOUBLE", "0.8", "")},
    "sasl.login.refresh.window.jitter": {"2.0": ("DOUBLE", "0.05", "")},
    "sasl.mechanism.inter.broker.protocol": {"1.1": ("STRING", "GSSAPI", "")},
    "ssl.cipher.suites": {"1.1": ("LIST", "", "")},
    "ssl.client.auth": {"1.1": ("STRING", "none", "[required, requested, none]")},
    "ssl.enabled.protocols": {
        "1.1": ("LIST", "TLSv1.2,TLSv1.1,TLSv1", ""),
        "2.5": ("LIST", "TLSv1.2", ""),
        "2.6": ("LIST", "TLSv1.2,TLSv1.3", ""),
    },
    "ssl.endpoint.identification.algorithm": {"1.1": ("STRING", None, ""), "2.0": ("STRING", "https", "")},
    "ssl.engine.factory.class": {"2.6": ("CLASS", None, "")},
    "ssl.key.password": {"1.1": ("PASSWORD", None, "")},
    "ssl.keymanager.algorithm": {"1.1": ("STRING", "SunX509", "")},
    "ssl.keystore.certificate.chain": {"2.7": ("PASSWORD", None, "")},
    "ssl.keystore.key": {"2.7": ("PASSWORD", None, "")},
    "ssl.keystore.location": {"1.1": ("STRING", None, "")},
    "ssl.keystore.password": {"1.1": ("PASSWORD", None, "")},
    "ssl.keystore.type": {"1.1": ("STRING", "JKS", "")},
    "ssl.protocol": {"1.1": ("STRING", "TLS", ""), "2.5": ("STRING", "TLSv1.2", ""), "2.6": ("STRING", "TLSv1.3", "")},
    "ssl.provider": {"1.1": ("STRING", None, "")},
    "ssl.secure.random.implementation": {"1.1": ("STRING", None, "")},
    "ssl.trustmanager.algorithm": {"1.1": ("STRING", "PKIX", "")},
    "ssl.truststore.certificates": {"2.7": ("PASSWORD", None, "")},
    "ssl.truststore.location": {"1.1": ("STRING", None, "")},
    "ssl.truststore.password": {"1.1": ("PASSWORD", None, "")},
    "ssl.truststore.type": {"1.1": ("STRING", "JKS", "")},
    "transaction.partition.verification.enable": {"3.6": ("BOOLEAN", "true", "")},
    "unclean.leader.election.enable": {"1.1": ("BOOLEAN", "false", "")},
}
"""Configs of brokers that change without a restart."""

STATIC: Names = {
    "1.1": (
        "advertised.host.name advertised.port alter.config.policy.class.name "
        "alter.log.dirs.replication.quota.window.num alter.log.dirs.replication.quota.window.size.seconds "
        "authorizer.class.name auto.create.topics.enable auto.leader.rebalance.enable broker.id "
        "broker.id.generation.enable broker.rack connections.max.idle.ms controlled.shutdown.enable "
        "controlled.shutdown.max.retries controlled.shutdown.retry.backoff.ms "
        "controller.socket.timeout.ms create.topic.policy.class.name default.replication.factor "
        "delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms "
        "delegation.token.master.key delegation.token.max.lifetime.ms "
        "delete.records.purgatory.purge.interval.requests delete.topic.enable "
        "fetch.purgatory.purge.interval.requests group.initial.rebalance.delay.ms "
        "group.max.session.timeout.ms group.min.session.timeout.ms host.name inter.broker.listener.name "
        "inter.broker.protocol.version leader.imbalance.check.interval.seconds "
        "leader.imbalance.per.broker.percentage log.cleaner.enable log.dir log.dirs "
        "log.flush.offset.checkpoint.interval.ms log.flush.scheduler.interval.ms "
        "log.flush.start.offset.checkpoint.interval.ms log.message.format.version "
        "log.retention.check.interval.ms log.retention.hours log.retention.minutes log.roll.hours "
        "log.roll.jitter.hours max.connections.per.ip max.connections.per.ip.overrides "
        "max.incremental.fetch.session.cache.slots metrics.num.samples metrics.recording.level "
        "metrics.sample.window.ms num.partitions num.replica.alter.log.dirs.threads "
        "offset.metadata.max.bytes offsets.commit.required.acks offsets.commit.timeout.ms "
        "offsets.load.buffer.size offsets.retention.check.interval.ms offsets.retention.minutes "
        "offsets.topic.compression.codec offsets.topic.num.partitions offsets.topic.replication.factor "
        "offsets.topic.segment.bytes password.encoder.cipher.algorithm password.encoder.iterations "
        "password.encoder.key.length password.encoder.keyfactory.algorithm password.encoder.old.secret "
        "password.encoder.secret port producer.purgatory.purge.interval.requests queued.max.request.bytes "
        "queued.max.requests quota.consumer.default quota.producer.default quota.window.num "
        "quota.window.size.seconds replica.fetch.backoff.ms replica.fetch.max.bytes "
        "replica.fetch.min.bytes replica.fetch.response.max.bytes replica.fetch.wait.max.ms "
        "replica.high.watermark.checkpoint.interval.ms replica.lag.time.max.ms "
        "replica.socket.receive.buffer.bytes replica.socket.timeout.ms replication.quota.window.num "
        "replication.quota.window.size.seconds request.timeout.ms reserved.broker.max.id "
        "security.inter.broker.protocol socket.receive.buffer.bytes socket.request.max.bytes "
        "socket.send.buffer.bytes transaction.abort.timed.out.transaction.cleanup.interval.ms "
        "transaction.max.timeout.ms transaction.remove.expired.transaction.cleanup.interval.ms "
        "transaction.state.log.load.buffer.size transaction.state.log.min.isr "
        "transaction.state.log.num.partitions transaction.state.log.replication.factor "
        "transaction.state.log.segment.bytes transactional.id.expiration.ms zookeeper.connect "
        "zookeeper.connection.timeout.ms zookeeper.max.in.flight.requests zookeeper.session.timeout.ms "
        "zookeeper.set.acl zookeeper.sync.time.ms"
    ),
    "2.0": (
        "client.quota.callback.class sasl.client.callback.handler.class sasl.login.callback.handler.class "
        "sasl.login.class sasl.server.callback.handler.class"
    ),
    "2.1": (
        "connection.failed.authentication.delay.ms kafka.metrics.polling.interval.secs "
        "kafka.metrics.reporters -max.connections.per.ip -max.connections.per.ip.overrides"
    ),
    "2.2": ("connections.max.reauth.ms control.plane.listener.name group.max.size ssl.principal.mapping.rules"),
    "2.4": ("replica.selector.class security.providers"),
    "2.5": (
        "fetch.max.bytes zookeeper.clientCnxnSocket zookeeper.ssl.cipher.suites "
        "zookeeper.ssl.client.enable zookeeper.ssl.crl.enable zookeeper.ssl.enabled.protocols "
        "zookeeper.ssl.endpoint.identification.algorithm zookeeper.ssl.keystore.location "
        "zookeeper.ssl.keystore.password zookeeper.ssl.keystore.type zookeeper.ssl.ocsp.enable "
        "zookeeper.ssl.protocol zookeeper.ssl.truststore.location zookeeper.ssl.truststore.password "
        "zookeeper.ssl.truststore.type"
    ),
    "2.7": (
        "controller.quota.window.num controller.quota.window.size.seconds "
        "socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms"
    ),
    "2.8": (
        "broker.heartbeat.interval.ms broker.session.timeout.ms controller.listener.names "
        "controller.quorum.append.linger.ms controller.quorum.election.backoff.max.ms "
        "controller.quorum.election.timeout.ms controller.quorum.fetch.timeout.ms "
        "controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms controller.quorum.voters "
        "delegation.token.secret.key initial.broker.registration.timeout.ms metadata.log.dir node.id "
        "process.roles sasl.mechanism.controller.protocol sasl.server.max.receive.size"
    ),
    "3.0": (
        "metadata.log.max.record.bytes.between.snapshots metadata.log.segment.bytes "
        "metadata.log.segment.min.bytes metadata.log.segment.ms metadata.max.retention.bytes "
        "metadata.max.retention.ms remote.log.index.file.cache.total.size.bytes "
        "remote.log.manager.task.interval.ms remote.log.manager.task.retry.backoff.max.ms "
        "remote.log.manager.task.retry.backoff.ms remote.log.manager.task.retry.jitter "
        "remote.log.manager.thread.pool.size remote.log.metadata.manager.class.name "
        "remote.log.metadata.manager.class.path remote.log.metadata.manager.impl.prefix "
        "remote.log.metadata.manager.listener.name remote.log.reader.max.pending.tasks "
        "remote.log.reader.threads remote.log.storage.manager.class.name "
        "remote.log.storage.manager.class.path remote.log.storage.manager.impl.prefix "
        "remote.log.storage.system.enable -advertised.host.name -advertised.port -host.name -port "
        "-quota.consumer.default -quota.producer.default"
    ),
    "3.1": (
        "sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.retry.backoff.max.ms "
        "sasl.login.retry.backoff.ms sasl.oauthbearer.clock.skew.seconds "
        "sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer "
        "sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms "
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url "
        "sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name "
        "sasl.oauthbearer.token.endpoint.url"
    ),
    "3.2": ("socket.listen.backlog.size -zookeeper.sync.time.ms"),
    "3.3": ("early.start.listeners metadata.max.idle.interval.ms"),
    "3.4": (
        "auto.include.jmx.reporter metadata.log.max.snapshot.interval.ms "
        "producer.id.expiration.check.interval.ms zookeeper.metadata.migration.enable"
    ),
    "3.5": (
        "group.consumer.assignors group.consumer.heartbeat.interval.ms "
        "group.consumer.max.heartbeat.interval.ms group.consumer.max.session.timeout.ms "
        "group.consumer.max.size group.consumer.min.heartbeat.interval.ms "
        "group.consumer.min.session.timeout.ms group.consumer.session.timeout.ms "
        "group.coordinator.new.enable group.coordinator.threads server.max.startup.time.ms "
        "unstable.api.versions.enable"
    ),
    "3.6": ("remote.log.metadata.custom.metadata.max.bytes zookeeper.metadata.migration.min.batch.size"),
    "3.7": (
        "eligible.leader.replicas.enable group.coordinator.rebalance.protocols ssl.allow.dn.changes "
        "ssl.allow.san.changes telemetry.max.bytes unstable.metadata.versions.enable "
        "-remote.log.index.file.cache.total.size.bytes"
    ),
    "3.8": (
        "controller.quorum.bootstrap.servers group.consumer.migration.policy "
        "group.coordinator.append.linger.ms log.dir.failure.timeout.ms log.initial.task.delay.ms "
        "max.request.partition.size.limit remote.log.manager.copier.thread.pool.size "
        "remote.log.manager.copy.quota.window.num remote.log.manager.copy.quota.window.size.seconds "
        "remote.log.manager.expiration.thread.pool.size remote.log.manager.fetch.quota.window.num "
        "remote.log.manager.fetch.quota.window.size.seconds unstable.feature.versions.enable "
        "-unstable.metadata.versions.enable"
    ),
    "3.9": (
        "alter.config.policy.kraft.compatibility.enable group.share.delivery.count.limit "
        "group.share.enable group.share.heartbeat.interval.ms group.share.max.groups "
        "group.share.max.heartbeat.interval.ms group.share.max.record.lock.duration.ms "
        "group.share.max.session.timeout.ms group.share.max.size group.share.min.heartbeat.interval.ms "
        "group.share.min.record.lock.duration.ms group.share.min.session.timeout.ms "
        "group.share.partition.max.record.locks group.share.record.lock.duration.ms "
        "group.share.session.timeout.ms unclean.leader.election.interval.ms"
    ),
}

"""Configs of brokers that only server.properties can hold."""

PER_BROKER: Names = {
    "1.1": (
        "advertised.listeners listener.security.protocol.map listeners principal.builder.class "
        "sasl.enabled.mechanisms sasl.jaas.config sasl.kerberos.kinit.cmd "
        "sasl.kerberos.min.time.before.relogin sasl.kerberos.principal.to.local.rules "
        "sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter "
        "sasl.kerberos.ticket.renew.window.factor sasl.mechanism.inter.broker.protocol ssl.cipher.suites "
        "ssl.client.auth ssl.enabled.protocols ssl.endpoint.identification.algorithm ssl.key.password "
        "ssl.keymanager.algorithm ssl.keystore.location ssl.keystore.password ssl.keystore.type "
        "ssl.protocol ssl.provider ssl.secure.random.implementation ssl.trustmanager.algorithm "
        "ssl.truststore.location ssl.truststore.password ssl.truststore.type"
    ),
    "2.0": (
        "sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds "
        "sasl.login.refresh.window.factor sasl.login.refresh.window.jitter"
    ),
    "2.6": ("ssl.engine.factory.class"),
    "2.7": ("ssl.keystore.certificate.chain ssl.keystore.key ssl.truststore.certificates"),
}

"""Set for one broker only."""

SECURITY: Names = {
    "1.1": ("ssl.key.password ssl.keystore.location ssl.keystore.password ssl.keystore.type"),
    "2.0": ("ssl.truststore.location ssl.truststore.password ssl.truststore.type"),
    "2.7": ("ssl.keystore.certificate.chain ssl.keystore.key ssl.truststore.certificates"),
}

"""Set only with a listener prefix."""

LISTENER_MECHANISM: Names = {
    "1.1": ("sasl.jaas.config"),
    "2.5": (
        "connections.max.reauth.ms sasl.login.callback.handler.class sasl.login.class "
        "sasl.server.callback.handler.class"
    ),
}

"""Written ``listener.name.<listener>.<mechanism>.<config>``."""

CLUSTER_LEVEL_LISTENER: Names = {
    "2.3": ("max.connections"),
    "2.7": ("max.connection.creation.rate"),
    "3.2": ("num.network.threads"),
}

"""Set with a listener prefix, and as the default of all brokers."""

VERSIONS: Names = {
    "1.1": (
        "0.10.0 0.10.0-IV0 0.10.0-IV1 0.10.1 0.10.1-IV0 0.10.1-IV1 0.10.1-IV2 0.10.2 0.10.2-IV0 0.11.0 "
        "0.11.0-IV0 0.11.0-IV1 0.11.0-IV2 0.8.0 0.8.1 0.8.2 0.9.0 1.0 1.0-IV0 1.1 1.1-IV0"
    ),
    "2.0": ("2.0 2.0-IV0 2.0-IV1"),
    "2.1": ("2.1 2.1-IV0 2.1-IV1 2.1-IV2"),
    "2.2": ("2.2 2.2-IV0 2.2-IV1"),
    "2.3": ("2.3 2.3-IV0 2.3-IV1"),
    "2.4": ("2.4 2.4-IV0 2.4-IV1"),
    "2.5": ("2.5 2.5-IV0"),
    "2.6": ("2.6 2.6-IV0"),
    "2.7": ("2.7 2.7-IV0 2.7-IV1 2.7-IV2"),
    "2.8": ("2.8 2.8-IV0 2.8-IV1"),
    "3.0": ("3.0 3.0-IV0 3.0-IV1"),
    "3.1": ("3.1 3.1-IV0"),
    "3.2": ("3.2 3.2-IV0"),
    "3.3": ("3.3 3.3-IV0 3.3-IV1 3.3-IV2 3.3-IV3"),
    "3.4": ("3.4 3.4-IV0"),
    "3.5": ("3.5 3.5-IV0 3.5-IV1 3.5-IV2"),
    "3.6": ("3.6 3.6-IV0 3.6-IV1 3.6-IV2"),
    "3.7": ("3.7 3.7-IV0 3.7-IV1 3.7-IV2 3.7-IV3 3.7-IV4 3.8-IV0"),
    "3.8": ("3.8 3.9-IV0"),
    "3.9": ("3.9 4.0-IV0 4.0-IV1"),
}

"""Values of message.format.version."""
