import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Keeps a broker's log directory moving until standard input ends: appends, rolls, retention, compaction, committed and
 * aborted transactions, deleted records, topics that come and go. Prints "ready" once everything has been written to.
 *
 * <p>Arguments: bootstrap servers, then key=value settings of the topics.
 */
public final class BusyLoad {
    private static volatile boolean running = true;
    private static final AtomicLong ROUNDS = new AtomicLong();

    private interface Step {
        void run(long round) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> topics = new HashMap<>();
        for (String each : Arrays.asList(arguments).subList(1, arguments.length)) {
            String[] pair = each.split("=", 2);
            topics.put(pair[0], pair[1]);
        }
        Map<String, String> compacted = new HashMap<>(topics);
        compacted.put("cleanup.policy", "compact");
        compacted.put("min.cleanable.dirty.ratio", "0.01");
        compacted.put("delete.retention.ms", "100");
        Map<String, String> short_ = new HashMap<>(topics);
        short_.put("retention.bytes", "60000");
        Properties common = new Properties();
        common.put("bootstrap.servers", arguments[0]);
        AdminClient admin = AdminClient.create(common);
        admin.createTopics(Arrays.asList(
                new NewTopic("busy-retention", 2, (short) 1).configs(short_),
                new NewTopic("busy-compacted", 2, (short) 1).configs(compacted),
                new NewTopic("busy-deleted-records", 1, (short) 1).configs(topics),
                new NewTopic("busy-transactions", 2, (short) 1).configs(short_))).all().get();
        KafkaProducer<byte[], byte[]> idempotent = producer(arguments[0], null);
        KafkaProducer<byte[], byte[]> transactional = producer(arguments[0], "busy");
        transactional.initTransactions();
        KafkaConsumer<byte[], byte[]> consumer = consumer(arguments[0]);
        byte[] value = new byte[400];
        start("retention", round -> {
            idempotent.send(new ProducerRecord<>("busy-retention", (int) (round % 2), null, value));
            idempotent.send(new ProducerRecord<>("busy-deleted-records", 0, null, value));
            byte[] key = Long.toString(round * 7919 % 50).getBytes(StandardCharsets.UTF_8);
            byte[] compactedValue = round % 9 == 0 ? null : value;
            idempotent.send(new ProducerRecord<>("busy-compacted", (int) (round % 2), key, compactedValue));
            if (round % 5 == 0) {
                idempotent.flush();
            }
        });
        start("transactions", round -> {
            transactional.beginTransaction();
            for (int at = 0; at < 1 + round % 4; at++) {
                byte[] key = Long.toString(round % 20).getBytes(StandardCharsets.UTF_8);
                transactional.send(new ProducerRecord<>("busy-transactions", (int) (round % 2), key, value));
                transactional.send(new ProducerRecord<>("busy-compacted", (int) (round % 2), key, value));
            }
            if (round % 3 == 0) {
                transactional.abortTransaction();
            } else {
                transactional.commitTransaction();
            }
        });
        start("commits", round -> consumer.commitSync(
                Collections.singletonMap(new TopicPartition("busy-retention", 0), new OffsetAndMetadata(round))));
        start("deletions", round -> {
            TopicPartition partition = new TopicPartition("busy-deleted-records", 0);
            admin.deleteRecords(Collections.singletonMap(partition, RecordsToDelete.beforeOffset(-1))).all().get();
            String name = "busy-short-lived-" + round;
            admin.createTopics(Collections.singleton(new NewTopic(name, 2, (short) 1).configs(topics))).all().get();
            for (int at = 0; at < 50; at++) {
                idempotent.send(new ProducerRecord<>(name, at % 2, null, value));
            }
            idempotent.flush();
            Thread.sleep(300);
            admin.deleteTopics(Collections.singleton(name)).all().get();
        });
        while (ROUNDS.get() < 300) {
            Thread.sleep(50);
        }
        System.out.println("ready");
        while (System.in.read() >= 0) {
            continue;
        }
        System.exit(0);
    }

    private static KafkaProducer<byte[], byte[]> producer(String servers, String transactionalId) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("enable.idempotence", "true");
        properties.put("acks", "all");
        if (transactionalId != null) {
            properties.put("transactional.id", transactionalId);
        }
        return new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static KafkaConsumer<byte[], byte[]> consumer(String servers) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("group.id", "busy-group");
        properties.put("enable.auto.commit", "false");
        return new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static void start(String name, Step step) {
        Thread thread = new Thread(() -> {
            for (long round = 0; running; round++) {
                try {
                    step.run(round);
                    Thread.sleep(2);
                    ROUNDS.incrementAndGet();
                } catch (Exception error) {
                    System.err.println(name + ": " + error);
                }
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }
}
