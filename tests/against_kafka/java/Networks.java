import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.kafka.server.authorizer.internals.CidrUtils;

/** Reads lines "network address"; prints whether Kafka takes the network (or why not), a tab, whether the address is in it. */
public class Networks {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            System.out.println(taken(words[0]) + "\t" + CidrUtils.isInRange(words[1], words[0]));
        }
    }

    private static String taken(String network) {
        try {
            CidrUtils.validate(network);
            return "taken";
        } catch (IllegalArgumentException problem) {
            return problem.getMessage();
        }
    }
}
