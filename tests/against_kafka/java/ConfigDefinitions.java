import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

/**
 * The config definitions of any release from 1.1 to 3.9, by reflection: "dump" prints them, "judge" reads lines
 * "kind TAB key=value TAB key=value..." and answers each with "ok" or the reason why the release refuses it.
 */
public final class ConfigDefinitions {
    private static final String[] LOG_CONFIGS = {
        "kafka.log.LogConfig$", "org.apache.kafka.storage.internals.log.LogConfig"};

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        if (arguments[0].equals("dump")) {
            dump(out);
            return;
        }
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split("\t", -1);
            Properties given = new Properties();
            for (int at = 1; at < parts.length; at++) {
                int equals = parts[at].indexOf('=');
                given.setProperty(parts[at].substring(0, equals), parts[at].substring(equals + 1));
            }
            String answer;
            try {
                judge(parts[0], given);
                answer = "ok";
            } catch (InvocationTargetException refused) {
                Throwable cause = refused.getCause();
                answer = cause.getClass().getSimpleName() + ": " + String.valueOf(cause.getMessage()).replace('\n', ' ');
            }
            out.println(answer);
            out.flush();
        }
    }

    private static void judge(String kind, Properties given) throws Exception {
        if (kind.equals("topic")) {
            for (String name : LOG_CONFIGS) {
                if (exists(name)) {
                    call(name, "validate", given);
                    // what a broker makes of it when it loads the topic
                    if (name.endsWith("$")) {
                        call(name, "fromProps", new java.util.HashMap<String, Object>(), given);
                    } else {
                        call(name, "fromProps", new java.util.HashMap<String, Object>(), given);
                    }
                    return;
                }
            }
        }
        if (kind.equals("broker") || kind.equals("brokers")) {
            String owner = "kafka.server.DynamicBrokerConfig$";
            if (methods(owner, "validateConfigs") != null) {
                call(owner, "validateConfigs", given, kind.equals("broker"));
            }
            call("kafka.server.DynamicConfig$Broker$", "validate", given);
            return;
        }
        if (kind.equals("started")) {
            // what a broker makes of it when it starts: with one config that it cannot read it leaves all of them out
            Properties whole = new Properties();
            whole.setProperty("zookeeper.connect", "localhost:1");
            whole.setProperty("broker.id", "1");
            whole.setProperty("advertised.listeners", "PLAINTEXT://localhost:1");
            whole.putAll(given);
            call("kafka.server.KafkaConfig$", "fromProps", whole, false);
            return;
        }
        String name = "kafka.server.DynamicConfig$" + kind + "$";
        if (!exists(name)) {
            throw new InvocationTargetException(new IllegalArgumentException("no such entity type"));
        }
        call(name, "validate", given);
    }

    private static void dump(PrintStream out) throws Exception {
        for (String name : LOG_CONFIGS) {
            if (exists(name)) {
                Object definition = methods(name, "configDefCopy") != null
                    ? call(name, "configDefCopy") : value(name, "configDef");
                keys(out, "topic", definition);
                break;
            }
        }
        for (String kind : new String[] {"Client", "User", "Ip", "Broker"}) {
            String name = "kafka.server.DynamicConfig$" + kind + "$";
            if (exists(name)) {
                Object found = null;
                for (Field field : Class.forName(name).getDeclaredFields()) {
                    if (field.getType().getSimpleName().equals("ConfigDef")) {
                        field.setAccessible(true);
                        found = field.get(instance(name));
                    }
                }
                keys(out, kind.toLowerCase(), found);
            }
        }
        keys(out, "server", value("kafka.server.KafkaConfig$", "configDef"));
        String dynamic = "kafka.server.DynamicBrokerConfig$";
        for (String set : new String[] {"AllDynamicConfigs", "PerBrokerConfigs", "DynamicSecurityConfigs",
            "ListenerMechanismConfigs", "ClusterLevelListenerConfigs", "DynamicPasswordConfigs"}) {
            Object names = value(dynamic, set);
            if (names != null) {
                out.println("set\t" + set + "\t" + names.getClass().getMethod("mkString", String.class).invoke(names, " "));
            }
        }
        String[][] versions = {{"kafka.api.ApiVersion$", "versionMap"}, {"kafka.api.ApiVersion$", "versionNameMap"}};
        for (String[] each : versions) {
            if (exists(each[0])) {
                Object map = value(each[0], each[1]);
                if (map != null) {
                    Object names = map.getClass().getMethod("keys").invoke(map);
                    out.println("set\tApiVersion\t" + names.getClass().getMethod("mkString", String.class).invoke(names, " "));
                    break;
                }
            }
        }
        String metadata = "org.apache.kafka.server.common.MetadataVersion";
        if (exists(metadata)) {
            StringBuilder text = new StringBuilder();
            Field names = Class.forName(metadata).getDeclaredField("IBP_VERSIONS");
            names.setAccessible(true);
            out.println("set\tApiVersion\t" + String.join(" ", ((Map<String, ?>) names.get(null)).keySet()));
        }
    }

    private static void keys(PrintStream out, String kind, Object definition) throws Exception {
        Map<String, ?> keys = (Map<String, ?>) definition.getClass().getMethod("configKeys").invoke(definition);
        for (Map.Entry<String, ?> entry : new TreeMap<>(keys).entrySet()) {
            Object key = entry.getValue();
            Object fallback = field(key, "defaultValue");
            Object validator = field(key, "validator");
            boolean hidden = Boolean.TRUE.equals(field(key, "internalConfig"));
            String text = fallback == null ? "null" : fallback instanceof Collection
                ? "=" + String.join(",", (Collection<String>) fallback)
                : fallback.getClass() == Object.class ? "required"
                : fallback instanceof Class ? "=" + ((Class<?>) fallback).getName()
                : "=" + fallback;
            out.println(String.join("\t", kind, entry.getKey(), String.valueOf(field(key, "type")), text,
                validator == null ? "" : validator.getClass().getName() + " " + validator, hidden ? "internal" : ""));
        }
    }

    private static boolean exists(String name) {
        try {
            Class.forName(name);
            return true;
        } catch (ClassNotFoundException missing) {
            return false;
        }
    }

    private static Object instance(String name) throws Exception {
        try {
            return Class.forName(name).getField("MODULE$").get(null);
        } catch (NoSuchFieldException none) {
            return null;
        }
    }

    private static Method methods(String name, String method) throws Exception {
        for (Method each : Class.forName(name).getMethods()) {
            if (each.getName().equals(method) || each.getName().endsWith("$$" + method)) {
                return each;
            }
        }
        return null;
    }

    private static Object call(String name, String method, Object... given) throws Exception {
        for (Method each : Class.forName(name).getDeclaredMethods()) {
            if (each.getName().equals(method) && each.getParameterCount() == given.length) {
                each.setAccessible(true);
                return each.invoke(instance(name), given);
            }
        }
        throw new NoSuchMethodException(name + "." + method);
    }

    /** What a Scala or Java class keeps under a name, private or not; null if it has none. */
    private static Object value(String name, String field) throws Exception {
        for (Field each : Class.forName(name).getDeclaredFields()) {
            if (each.getName().equals(field) || each.getName().endsWith("$$" + field)) {
                each.setAccessible(true);
                return each.get(instance(name));
            }
        }
        Method method = methods(name, field);
        return method == null ? null : method.invoke(instance(name));
    }

    private static Object field(Object key, String name) throws Exception {
        try {
            return key.getClass().getField(name).get(key);
        } catch (NoSuchFieldException older) {
            return null;
        }
    }
}
