import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.placement.ClusterDescriber;
import org.apache.kafka.metadata.placement.PlacementSpec;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.metadata.placement.UsableBroker;

/**
 * Kafka's StripedReplicaPlacer, a case per line of standard input: the seed, brokers ("id" or "id:rack", by commas), and
 * topics ("partitionsxreplicas", by commas) that are placed one after the other. A line of answer for each case.
 */
public class Placements {
    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split(" ");
            List<UsableBroker> brokers = new ArrayList<>();
            for (String each : parts[1].split(",")) {
                String[] words = each.split(":");
                Optional<String> rack = words.length > 1 ? Optional.of(words[1]) : Optional.empty();
                brokers.add(new UsableBroker(Integer.parseInt(words[0]), rack, false));
            }
            var cluster = new ClusterDescriber() {
                @Override
                public Iterator<UsableBroker> usableBrokers() {
                    return brokers.iterator();
                }

                @Override
                public Uuid defaultDir(int brokerId) {
                    return Uuid.ZERO_UUID;
                }
            };
            var placer = new StripedReplicaPlacer(new Random(Long.parseLong(parts[0])));
            List<String> placed = new ArrayList<>();
            for (String topic : parts[2].split(",")) {
                String[] words = topic.split("x");
                placed.add(placer.place(
                        new PlacementSpec(0, Integer.parseInt(words[0]), Short.parseShort(words[1])), cluster)
                    .assignments().stream()
                    .map(each -> each.replicas().stream().map(String::valueOf).collect(Collectors.joining(",")))
                    .collect(Collectors.joining("/")));
            }
            System.out.println(String.join(" ", placed));
        }
    }
}
