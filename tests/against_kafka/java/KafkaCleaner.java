package org.apache.kafka.storage.internals.log;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Timer;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Runs one round of Kafka's cleaner on partition directories. A line on stdin is
 * {@code directory now_ms cleaned_to map_bytes config=value...}; the answer is
 * {@code first_dirty end_offset clean_bytes cleanable_bytes overdue cleaned_to}.
 */
public final class KafkaCleaner {
    private static final class At implements Time {
        private final long now;

        At(long now) {
            this.now = now;
        }

        public long milliseconds() {
            return now;
        }

        public long nanoseconds() {
            return System.nanoTime();
        }

        public void sleep(long ms) {
        }

        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
        }

        public Timer timer(long timeoutMs) {
            throw new UnsupportedOperationException();
        }
    }

    private KafkaCleaner() {
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] words = line.split(" ");
            String answer;
            try {
                answer = clean(words);
            } catch (Throwable failure) {
                answer = "! " + failure;
            }
            System.out.println(answer.replace('\n', ' '));
            System.out.flush();
        }
    }

    private static String clean(String[] words) throws Exception {
        File directory = Path.of(words[0]).toFile();
        long now = Long.parseLong(words[1]);
        long cleanedTo = Long.parseLong(words[2]);
        int mapBytes = Integer.parseInt(words[3]);
        Properties values = new Properties();
        for (String pair : Arrays.copyOfRange(words, 4, words.length)) {
            values.put(pair.split("=", 2)[0], pair.split("=", 2)[1]);
        }
        At time = new At(now);
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        UnifiedLog log = UnifiedLog.create(
            directory, new LogConfig(values), 0L, 0L, scheduler, new BrokerTopicStats(), time, 900000,
            new ProducerStateManagerConfig(Integer.MAX_VALUE, false), 600000, new LogDirFailureChannel(1), true,
            Optional.empty());
        try {
            log.updateHighWatermark(log.logEndOffset());
            LogCleanerManager.OffsetsToClean found = LogCleanerManager.cleanableOffsets(
                log, cleanedTo < 0 ? Optional.empty() : Optional.of(cleanedTo), now);
            Method delay = LogCleanerManager.class.getDeclaredMethod(
                "maxCompactionDelay", UnifiedLog.class, long.class, long.class);
            delay.setAccessible(true);
            boolean overdue = (long) delay.invoke(null, log, found.firstDirtyOffset(), now) > 0;
            LogToClean wanted = new LogToClean(
                log, found.firstDirtyOffset(), found.firstUncleanableDirtyOffset(), overdue);
            Throttler throttler = new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", time);
            Cleaner cleaner = new Cleaner(
                0, new SkimpyOffsetMap(mapBytes), 65536, 1 << 20, 0.9, throttler, time, partition -> { });
            String told = wanted.firstDirtyOffset() + " " + wanted.firstUncleanableOffset() + " "
                + wanted.cleanBytes() + " " + wanted.cleanableBytes() + " " + overdue;
            if (wanted.cleanableBytes() == 0) {
                return told + " -1";
            }
            Map.Entry<Long, CleanerStats> done = cleaner.doClean(wanted, now);
            return told + " " + done.getKey();
        } finally {
            log.close();
            scheduler.shutdown(); // before the files that were replaced are deleted
        }
    }
}
