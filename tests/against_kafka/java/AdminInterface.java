import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;

/** Prints each operation of Kafka's Admin interface with the options it takes, one per line. */
public class AdminInterface {
    public static void main(String[] args) {
        Map<String, Set<String>> operations = new TreeMap<>();
        for (Method method : Admin.class.getMethods()) {
            Set<String> options = operations.computeIfAbsent(method.getName(), name -> new TreeSet<>());
            for (Class<?> parameter : method.getParameterTypes()) {
                if (parameter.getSimpleName().endsWith("Options")) {
                    options.addAll(optionsOf(parameter));
                }
            }
        }
        operations.forEach((name, options) -> System.out.println(name + " " + String.join(" ", options)));
        Set<String> specs = new TreeSet<>();
        for (Method method : OffsetSpec.class.getDeclaredMethods()) {
            if (Modifier.isPublic(method.getModifiers())) {
                specs.add(method.getName());
            }
        }
        System.out.println("OffsetSpec " + String.join(" ", specs));
    }

    private static Set<String> optionsOf(Class<?> type) {
        Set<String> names = new TreeSet<>();
        for (Method method : type.getMethods()) {
            boolean own = method.getDeclaringClass() != Object.class && !Modifier.isStatic(method.getModifiers());
            if (own && method.getParameterCount() == 1 && !method.getName().equals("equals")) {
                String name = method.getName();
                names.add(name.startsWith("set") ? Character.toLowerCase(name.charAt(3)) + name.substring(4) : name);
            }
        }
        for (Constructor<?> constructor : type.getConstructors()) {
            for (Class<?> parameter : constructor.getParameterTypes()) {
                names.add(Character.toLowerCase(parameter.getSimpleName().charAt(0)) + parameter.getSimpleName().substring(1));
            }
        }
        return names;
    }
}
