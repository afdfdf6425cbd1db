import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.common.metrics.stats.Avg;
import org.apache.kafka.common.metrics.stats.CumulativeCount;
import org.apache.kafka.common.metrics.stats.CumulativeSum;
import org.apache.kafka.common.metrics.stats.Max;
import org.apache.kafka.common.metrics.stats.Meter;
import org.apache.kafka.common.metrics.stats.Min;
import org.apache.kafka.common.metrics.stats.Percentile;
import org.apache.kafka.common.metrics.stats.Percentiles;
import org.apache.kafka.common.metrics.stats.Percentiles.BucketSizing;
import org.apache.kafka.common.metrics.stats.Rate;
import org.apache.kafka.common.metrics.stats.SimpleRate;
import org.apache.kafka.common.metrics.stats.Value;
import org.apache.kafka.common.metrics.stats.WindowedCount;
import org.apache.kafka.common.metrics.stats.WindowedSum;
import org.apache.kafka.common.utils.Time;

/**
 * Kafka's stats on a clock that is told the time. A line is "config SAMPLES WINDOW_MS EVENTS" for a new sensor,
 * "record MS VALUE", or "measure MS"; the answer is the values of all metrics, in the order in which they were added.
 */
public final class MetricStats {
    private static Metrics metrics;
    private static Sensor sensor;
    private static final List<MetricName> NAMES = new ArrayList<>();

    private static MetricName name(String text) {
        MetricName name = new MetricName(text, "g", "", Map.of());
        NAMES.add(name);
        return name;
    }

    private static void begin(MetricConfig config) {
        if (metrics != null) metrics.close();
        NAMES.clear();
        metrics = new Metrics(config, Time.SYSTEM);
        sensor = metrics.sensor("s");
        sensor.add(name("value"), new Value());
        sensor.add(name("cumulative-sum"), new CumulativeSum());
        sensor.add(name("cumulative-count"), new CumulativeCount());
        sensor.add(name("windowed-sum"), new WindowedSum());
        sensor.add(name("windowed-count"), new WindowedCount());
        sensor.add(name("avg"), new Avg());
        sensor.add(name("max"), new Max());
        sensor.add(name("min"), new Min());
        sensor.add(name("rate"), new Rate());
        sensor.add(name("rate-per-minute"), new Rate(TimeUnit.MINUTES, new WindowedCount()));
        sensor.add(name("simple-rate"), new SimpleRate());
        MetricName rate = name("meter-rate");
        sensor.add(new Meter(new WindowedCount(), rate, name("meter-total")));
        sensor.add(new Percentiles(4 * 50, -20.0, 1000.0, BucketSizing.CONSTANT,
            new Percentile(name("constant-10"), 10), new Percentile(name("constant-50"), 50),
            new Percentile(name("constant-99"), 99)));
        sensor.add(new Percentiles(4 * 100, 2000.0, BucketSizing.LINEAR,
            new Percentile(name("linear-25"), 25), new Percentile(name("linear-75"), 75),
            new Percentile(name("linear-100"), 100)));
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("config")) {
                begin(new MetricConfig().samples(Integer.parseInt(words[1]))
                    .timeWindow(Long.parseLong(words[2]), TimeUnit.MILLISECONDS).eventWindow(Long.parseLong(words[3])));
            } else if (words[0].equals("record")) {
                sensor.record(Double.parseDouble(words[2]), Long.parseLong(words[1]));
            } else {
                List<String> values = new ArrayList<>();
                for (MetricName name : NAMES) {
                    KafkaMetric metric = metrics.metrics().get(name);
                    values.add(Double.toString(metric.measurable().measure(metric.config(), Long.parseLong(words[1]))));
                }
                System.out.println(String.join(" ", values));
                System.out.flush();
                continue;
            }
            System.out.println("ok");
            System.out.flush();
        }
    }
}
