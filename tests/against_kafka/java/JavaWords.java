import java.util.HashSet;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;

/**
 * A line "error NAME class" for each error code that has an exception; and for each argument "topic,count" the line
 * "set" with the partitions of all arguments so far, in the order in which a HashSet walks them.
 */
public final class JavaWords {
    public static void main(String[] topics) {
        for (Errors error : Errors.values()) {
            if (error.exception() != null) {
                System.out.println("error " + error.name() + " " + error.exception().getClass().getName());
            }
        }
        Set<TopicPartition> keys = new HashSet<>();
        for (String each : topics) {
            int comma = each.lastIndexOf(',');
            for (int number = 0; number < Integer.parseInt(each.substring(comma + 1)); number++) {
                keys.add(new TopicPartition(each.substring(0, comma), number));
            }
            StringBuilder walked = new StringBuilder("set");
            keys.forEach(key -> walked.append(' ').append(key));
            System.out.println(walked);
        }
    }
}
