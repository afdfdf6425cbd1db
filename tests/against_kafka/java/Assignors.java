import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/** Kafka's assignors, a group per line in JSON, made of the same kinds of tables as the coordinator makes it. */
public final class Assignors {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(JSON.writeValueAsString(assign(JSON.readTree(line))));
        }
    }

    private static ObjectNode assign(JsonNode group) {
        Map<String, Uuid> ids = new HashMap<>();
        Map<Uuid, Integer> counts = new HashMap<>();
        for (JsonNode topic : group.get("topics")) {
            Uuid id = id(topic.get("id").asText());
            ids.put(topic.get("name").asText(), id);
            counts.put(id, topic.get("partitions").asInt());
        }
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        for (JsonNode member : group.get("members")) {
            String memberId = member.get("id").asText();
            List<String> names = new ArrayList<>();
            member.get("topics").forEach(name -> names.add(name.asText()));
            Set<Uuid> subscribed = new LinkedHashSet<>();
            new HashSet<>(names).forEach(name -> subscribed.add(ids.get(name)));
            Map<Uuid, Set<Integer>> assigned = new HashMap<>();
            for (JsonNode had : member.get("assigned")) {
                List<Integer> partitions = new ArrayList<>();
                had.get(1).forEach(partition -> partitions.add(partition.asInt()));
                Uuid id = id(had.get(0).asText());
                assigned.put(id, new HashSet<>(partitions));
                partitions.forEach(at -> owners.computeIfAbsent(id, __ -> new HashMap<>()).put(at, memberId));
            }
            members.put(memberId, new MemberSubscriptionAndAssignmentImpl(Optional.empty(),
                Optional.ofNullable(member.get("instance").textValue()), subscribed, new Assignment(assigned)));
        }
        ConsumerGroupPartitionAssignor assignor =
            group.get("assignor").asText().equals("range") ? new RangeAssignor() : new UniformAssignor();
        SubscriptionType type =
            group.get("alike").asBoolean() ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        GroupAssignment made = assignor.assign(
            new GroupSpecImpl(Collections.unmodifiableMap(members), type, owners), new Counts(counts));
        ObjectNode answer = JSON.createObjectNode();
        for (Map.Entry<String, MemberAssignment> member : made.members().entrySet()) {
            ArrayNode topics = answer.putArray(member.getKey());
            member.getValue().partitions().forEach((topic, partitions) -> {
                ArrayNode pair = topics.addArray();
                pair.add(String.format("%016x%016x", topic.getMostSignificantBits(), topic.getLeastSignificantBits()));
                partitions.forEach(pair.addArray()::add);
            });
        }
        return answer;
    }

    private static Uuid id(String hex) {
        return new Uuid(Long.parseUnsignedLong(hex.substring(0, 16), 16), Long.parseUnsignedLong(hex.substring(16), 16));
    }

    private record Counts(Map<Uuid, Integer> counts) implements SubscribedTopicDescriber {
        @Override
        public int numPartitions(Uuid topicId) {
            return counts.getOrDefault(topicId, -1);
        }

        @Override
        public Set<String> racksForPartition(Uuid topicId, int partition) {
            return Set.of();
        }
    }
}
