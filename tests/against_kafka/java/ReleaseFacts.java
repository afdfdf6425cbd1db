import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What a release of Kafka says of itself, by reflection, as one JSON object on standard output. The arguments are the
 * names of its generated message classes. A section that the release does not have in a known place is left out.
 */
public final class ReleaseFacts {
    private static final String TYPES = "org.apache.kafka.common.protocol.types.";

    public static void main(String[] names) throws Exception {
        java.io.PrintStream out = System.out;
        System.setOut(System.err);
        Map<String, Object> facts = new TreeMap<>();
        facts.put("schemas", schemas(names));
        facts.put("errors", errors());
        facts.put("apis", apis());
        facts.put("features", features());
        facts.put("configs", configs());
        facts.put("dynamic", dynamic());
        out.print(new ObjectMapper().writeValueAsString(facts));
        out.flush();
    }

    private static Map<String, Object> schemas(String[] names) throws Exception {
        Map<String, Object> found = new TreeMap<>();
        for (String name : names) {
            Class<?> type = Class.forName(name);
            Map<String, Object> versions = new LinkedHashMap<>();
            Object[] schemas;
            int low;
            try {
                schemas = (Object[]) type.getField("SCHEMAS").get(null);
                low = type.getField("LOWEST_SUPPORTED_VERSION").getShort(null);
            } catch (NoSuchFieldException absent) {
                continue;
            }
            for (int version = 0; version < schemas.length; version++) {
                if (schemas[version] != null) {
                    versions.put(String.valueOf(version), layout(schemas[version]));
                }
            }
            Object message = type.getConstructor().newInstance();
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("api_key", message.getClass().getMethod("apiKey").invoke(message));
            row.put("versions", versions);
            found.put(type.getSimpleName(), row);
        }
        return found;
    }

    private static Object layout(Object type) throws Exception {
        String kind = type.getClass().getSimpleName();
        if (kind.equals("Schema") || kind.equals("NullableSchema")) {
            List<Object> fields = new ArrayList<>();
            for (Object bound : (Object[]) call(type, "fields")) {
                fields.add(field(value(bound, "def")));
            }
            return kind.equals("Schema") ? fields : Map.of("nullable_struct", fields);
        }
        if (kind.equals("ArrayOf") || kind.equals("CompactArrayOf")) {
            Map<String, Object> array = new LinkedHashMap<>();
            array.put("array", layout(value(type, "type")));
            array.put("kind", kind.equals("ArrayOf") ? "plain" : "compact");
            array.put("nullable", value(type, "nullable"));
            return array;
        }
        if (kind.equals("TaggedFields")) {
            Map<String, Object> tagged = new LinkedHashMap<>();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value(type, "fields")).entrySet()) {
                tagged.put(String.valueOf(entry.getKey()), field(entry.getValue()));
            }
            return Map.of("tagged", tagged);
        }
        return String.valueOf(call(type, "typeName"));
    }

    private static Map<String, Object> field(Object field) throws Exception {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("name", value(field, "name"));
        row.put("type", layout(value(field, "type")));
        return row;
    }

    private static List<Object> errors() throws Exception {
        List<Object> rows = new ArrayList<>();
        Class<?> retriable = Class.forName("org.apache.kafka.common.errors.RetriableException");
        Class<?> refresh = Class.forName("org.apache.kafka.common.errors.InvalidMetadataException");
        for (Object error : Class.forName("org.apache.kafka.common.protocol.Errors").getEnumConstants()) {
            Object exception = call(error, "exception");
            rows.add(List.of(
                call(error, "code"), ((Enum<?>) error).name(), retriable.isInstance(exception),
                refresh.isInstance(exception), String.valueOf(call(error, "message"))));
        }
        return rows;
    }

    private static List<Object> apis() throws Exception {
        List<Object> rows = new ArrayList<>();
        for (Object api : Class.forName("org.apache.kafka.common.protocol.ApiKeys").getEnumConstants()) {
            Object type = value(api, "messageType");
            List<String> listeners = new ArrayList<>();
            for (Object each : (Collection<?>) call(type, "listeners")) {
                listeners.add(((Enum<?>) each).name());
            }
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("key", value(api, "id"));
            row.put("name", value(api, "name"));
            row.put("oldest", call(api, "oldestVersion"));
            row.put("newest", call(api, "latestVersion"));
            row.put("newest_is_unstable", call(type, "latestVersionUnstable"));
            row.put("listeners", listeners);
            row.put("throttles", throttles(api));
            rows.add(row);
        }
        return rows;
    }

    /** The versions whose answers make a client throttle itself (KIP-219); null for an API without classes. */
    private static List<Object> throttles(Object api) throws Exception {
        String name = String.valueOf(value(api, "name")).replace("OffsetForLeader", "OffsetsForLeader");
        Class<?> parent = Class.forName("org.apache.kafka.common.requests.AbstractResponse");
        Class<?> type;
        try {
            type = Class.forName("org.apache.kafka.common.requests." + name + "Response");
        } catch (ClassNotFoundException absent) {
            return null;
        }
        if (!parent.isAssignableFrom(type)) {
            return null; // what is left of an API that is gone
        }
        Field unsafe = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        // The method looks at the API and the version alone, so that an instance without data will do.
        Object response = ((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(type);
        Field key = parent.getDeclaredField("apiKey");
        key.setAccessible(true);
        key.set(response, api);
        Method answer = response.getClass().getMethod("shouldClientThrottle", short.class);
        List<Object> versions = new ArrayList<>();
        for (short version = (Short) call(api, "oldestVersion"); version <= (Short) call(api, "latestVersion"); version++) {
            if ((Boolean) answer.invoke(response, version)) {
                versions.add(version);
            }
        }
        return versions;
    }

    private static Map<String, Object> features() throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        Class<?> versions = Class.forName("org.apache.kafka.server.common.MetadataVersion");
        Map<String, Object> levels = new LinkedHashMap<>();
        List<Object> changes = new ArrayList<>();
        for (Object version : versions.getEnumConstants()) {
            int level = ((Number) call(version, "featureLevel")).intValue();
            if (level > 0) {
                levels.put(String.valueOf(level), String.valueOf(call(version, "version")));
                if ((Boolean) call(version, "didMetadataChange")) {
                    changes.add(level);
                }
            }
        }
        found.put("metadata_versions", levels);
        found.put("metadata_changes", changes);
        for (String name : new String[] {"LATEST_PRODUCTION", "MINIMUM_VERSION", "MINIMUM_KRAFT_VERSION"}) {
            try {
                found.put(name.toLowerCase(), call(versions.getField(name).get(null), "featureLevel"));
            } catch (NoSuchFieldException absent) {
                // of another release
            }
        }
        Map<String, Object> features = new LinkedHashMap<>();
        try {
            Class<?> type = Class.forName("org.apache.kafka.server.common.Feature");
            for (Object feature : (Collection<?>) type.getField("PRODUCTION_FEATURES").get(null)) {
                Map<String, Object> row = new LinkedHashMap<>();
                List<Object> rows = new ArrayList<>();
                for (Object level : (Object[]) call(feature, "featureVersions")) {
                    rows.add(List.of(call(level, "featureLevel"),
                        call(call(level, "bootstrapMetadataVersion"), "featureLevel"), call(level, "dependencies")));
                }
                row.put("levels", rows);
                row.put("latest_production", call(feature, "latestProduction"));
                features.put(String.valueOf(call(feature, "featureName")), row);
            }
        } catch (ReflectiveOperationException absent) {
            return found;
        }
        found.put("features", features);
        return found;
    }

    private static Map<String, Object> configs() throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        String[][] places = {
            {"topic", "org.apache.kafka.storage.internals.log.LogConfig", "configDefCopy"},
            {"broker", "org.apache.kafka.server.config.AbstractKafkaConfig", "CONFIG_DEF"},
            {"broker", "kafka.server.KafkaConfig$", "configDef"},
            {"group", "org.apache.kafka.coordinator.group.GroupConfig", "CONFIG_DEF"},
            {"group", "org.apache.kafka.coordinator.group.GroupConfig", "configDef"},
            {"client_metrics", "org.apache.kafka.server.metrics.ClientMetricsConfigs", "configDef"},
            {"throttles", "org.apache.kafka.server.config.QuotaConfig", "brokerQuotaConfigs"},
            {"admin", "org.apache.kafka.clients.admin.AdminClientConfig", "configDef"},
            {"producer", "org.apache.kafka.clients.producer.ProducerConfig", "configDef"},
            {"consumer", "org.apache.kafka.clients.consumer.ConsumerConfig", "configDef"}};
        for (String[] place : places) {
            Object definition = found.containsKey(place[0]) ? null : of(place[1], place[2]);
            if (definition != null) {
                found.put(place[0], rows(definition));
            }
        }
        return found;
    }

    private static Map<String, Object> rows(Object definition) throws Exception {
        Map<String, Object> rows = new TreeMap<>();
        Map<?, ?> keys = (Map<?, ?>) definition.getClass().getMethod("configKeys").invoke(definition);
        for (Object key : keys.values()) {
            Object fallback = value(key, "defaultValue");
            Object validator = value(key, "validator");
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("type", String.valueOf(value(key, "type")));
            row.put("default", fallback == null || fallback.getClass() == Object.class ? null
                : fallback instanceof Collection ? String.join(",", strings((Collection<?>) fallback))
                : fallback instanceof Class ? ((Class<?>) fallback).getName() : String.valueOf(fallback));
            row.put("valid", valid(validator));
            row.put("internal", value(key, "internalConfig"));
            rows.put(String.valueOf(value(key, "name")), row);
        }
        return rows;
    }

    /** ConfigDef's own words, and "non-empty" for a list that must have an element, which its words do not say. */
    private static String valid(Object validator) throws Exception {
        String words = validator == null ? "" : String.valueOf(validator);
        try {
            return Boolean.FALSE.equals(value(validator, "isEmptyAllowed")) ? ("non-empty " + words).strip() : words;
        } catch (NoSuchFieldException | NullPointerException noList) {
            return words;
        }
    }

    private static Map<String, Object> dynamic() throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        String owner = "org.apache.kafka.server.config.DynamicBrokerConfig";
        for (String set : new String[] {"ALL_DYNAMIC_CONFIGS", "PER_BROKER_CONFIGS", "DYNAMIC_SECURITY_CONFIGS",
            "CLUSTER_LEVEL_LISTENER_CONFIGS", "LISTENER_MECHANISM_CONFIGS"}) {
            Object names = of(owner, set);
            if (names != null) {
                found.put(set.toLowerCase(), new TreeSet<>(strings((Collection<?>) names)));
            }
        }
        Object synonyms = of("org.apache.kafka.server.config.ServerTopicConfigSynonyms", "TOPIC_CONFIG_SYNONYMS");
        if (synonyms != null) {
            found.put("topic_config_synonyms", new TreeMap<>((Map<?, ?>) synonyms));
        }
        return found;
    }

    private static List<String> strings(Collection<?> values) {
        List<String> texts = new ArrayList<>();
        for (Object each : values) {
            texts.add(String.valueOf(each));
        }
        return texts;
    }

    /** A static method or field of a class, a field or method of a Scala object; null where there is none. */
    private static Object of(String owner, String name) throws Exception {
        Class<?> type;
        try {
            type = Class.forName(owner);
        } catch (ClassNotFoundException absent) {
            return null;
        }
        for (Method method : type.getDeclaredMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == 0) {
                method.setAccessible(true);
                return method.invoke(Modifier.isStatic(method.getModifiers()) ? null : type.getField("MODULE$").get(null));
            }
        }
        for (Field field : type.getDeclaredFields()) {
            if (field.getName().equals(name)) {
                field.setAccessible(true);
                return field.get(Modifier.isStatic(field.getModifiers()) ? null : type.getField("MODULE$").get(null));
            }
        }
        return null;
    }

    private static Object value(Object object, String name) throws Exception {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field.get(object);
                }
            }
        }
        throw new NoSuchFieldException(object.getClass() + "." + name);
    }

    private static Object call(Object object, String name) throws Exception {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            for (Method method : type.getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == 0) {
                    method.setAccessible(true);
                    return method.invoke(object);
                }
            }
        }
        return object.getClass().getMethod(name).invoke(object);
    }
}
