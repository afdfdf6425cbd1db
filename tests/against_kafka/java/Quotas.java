import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import kafka.server.ClientRequestQuotaManager;
import org.apache.kafka.common.errors.ThrottlingQuotaExceededException;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.network.Session;
import org.apache.kafka.server.config.ClientQuotaManagerConfig;
import org.apache.kafka.server.quota.ClientQuotaEntity;
import org.apache.kafka.server.quota.ClientQuotaManager;
import org.apache.kafka.server.quota.ControllerMutationQuota;
import org.apache.kafka.server.quota.ControllerMutationQuotaManager;
import org.apache.kafka.server.quota.QuotaType;

/** Kafka's quota managers on a clock that is told the time: a step in JSON per line, the throttle time as the answer. */
public final class Quotas {
    private static long nowMs;
    private static final Time CLOCK = new Time() {
        @Override
        public long milliseconds() {
            return nowMs;
        }

        @Override
        public long nanoseconds() {
            return nowMs * 1_000_000;
        }

        @Override
        public void sleep(long ms) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
            throw new UnsupportedOperationException();
        }
    };

    private final Map<String, ClientQuotaManager> managers;

    private Quotas(int windows, int windowSeconds) {
        Metrics metrics = new Metrics(new MetricConfig(), List.of(), CLOCK);
        ClientQuotaManagerConfig config = new ClientQuotaManagerConfig(windows, windowSeconds);
        managers = Map.of(
            "producer_byte_rate", new ClientQuotaManager(config, metrics, QuotaType.PRODUCE, CLOCK, ""),
            "consumer_byte_rate", new ClientQuotaManager(config, metrics, QuotaType.FETCH, CLOCK, ""),
            "request_percentage", new ClientRequestQuotaManager(config, metrics, CLOCK, "", Optional.empty()),
            "controller_mutation_rate", new ControllerMutationQuotaManager(config, metrics, CLOCK, "", Optional.empty()));
    }

    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        Quotas quotas = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode step = json.readTree(line);
            nowMs = step.path("now").asLong(nowMs);
            if (step.has("windows")) {
                quotas = new Quotas(step.get("windows").asInt(), step.get("seconds").asInt());
                out.println("[]");
            } else {
                out.println(json.writeValueAsString(quotas.step(step)));
            }
        }
        System.exit(0); // the managers have threads
    }

    private List<Object> step(JsonNode step) throws Exception {
        ClientQuotaManager manager = managers.get(step.get("key").asText());
        if (step.has("limit")) {
            JsonNode limit = step.get("limit");
            manager.updateQuota(
                entity(step, "user", ClientQuotaManager.DEFAULT_USER_ENTITY, true),
                entity(step, "client", ClientQuotaManager.DEFAULT_USER_CLIENT_ID, false),
                limit.isNull() ? Optional.empty() : Optional.of(new Quota(limit.asDouble(), true)));
            return List.of();
        }
        Session session = new Session(
            new KafkaPrincipal(KafkaPrincipal.USER_TYPE, step.get("user").asText()), InetAddress.getLoopbackAddress());
        String client = step.get("client").asText();
        double value = step.get("value").asDouble();
        if (manager instanceof ControllerMutationQuotaManager mutations) {
            boolean strict = step.get("strict").asBoolean();
            ControllerMutationQuota quota =
                strict ? mutations.newStrictQuotaFor(session, client) : mutations.newPermissiveQuotaFor(session, client);
            boolean refused = false;
            try {
                quota.record(value);
            } catch (ThrottlingQuotaExceededException exceeded) {
                refused = true;
            }
            return List.of(quota.throttleTime(), refused);
        }
        int throttled = manager.maybeRecordAndGetThrottleTimeMs(session, client, value, nowMs);
        if (step.get("key").asText().equals("consumer_byte_rate") && (throttled > 0 || step.get("held").asInt() > 0)) {
            manager.unrecordQuotaSensor(session, client, value, nowMs);
        }
        double most = manager.maxValueInQuotaWindow(session, client);
        return List.of(throttled, most > Integer.MAX_VALUE ? Integer.MAX_VALUE : (int) most);
    }

    private static Optional<ClientQuotaEntity.ConfigEntity> entity(
            JsonNode step, String name, ClientQuotaEntity.ConfigEntity byDefault, boolean user) {
        if (!step.has(name)) {
            return Optional.empty();
        }
        if (step.get(name).isNull()) {
            return Optional.of(byDefault);
        }
        String text = step.get(name).asText();
        return Optional.of(user ? new ClientQuotaManager.UserEntity(text) : new ClientQuotaManager.ClientIdEntity(text));
    }
}
