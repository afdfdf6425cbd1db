import java.io.File;
import java.util.stream.Collectors;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile;

/**
 * For each argument "kind:path" a line: what Kafka's reader of that kind of file reads there, or "refused".
 */
public final class CheckpointFiles {
    public static void main(String[] arguments) {
        for (String each : arguments) {
            int colon = each.indexOf(':');
            String told;
            try {
                told = read(each.substring(0, colon), new File(each.substring(colon + 1)));
            } catch (Throwable refusal) {
                told = "refused";
            }
            System.out.println(told);
        }
    }

    private static String read(String kind, File file) throws Exception {
        switch (kind) {
            case "metadata":
                return new PartitionMetadataFile(file, null).read().topicId().toString();
            case "epochs":
                return new LeaderEpochCheckpointFile(file, null).read().stream()
                    .map(entry -> entry.epoch() + " " + entry.startOffset()).collect(Collectors.joining(","));
            default:
                return new OffsetCheckpointFile(file, null).read().entrySet().stream()
                    .map(entry -> entry.getKey() + " " + entry.getValue()).sorted().collect(Collectors.joining(","));
        }
    }
}
