import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

/**
 * For each class that is named: a line "class word number text" for each constant of an enumeration, or a line
 * "class NAME value" for each constant of another class that is a number or a text. Of a class that has
 * supportedOperations: a line "class KIND OPERATION,OPERATION" for each kind that it takes.
 */
public final class KafkaEnums {
    private static final String[] NUMBERS = {"id", "code", "type", "value"};

    public static void main(String[] names) throws Exception {
        for (String name : names) {
            Class<?> found = Class.forName(name);
            if (found.isEnum()) {
                for (Object constant : found.getEnumConstants()) {
                    Object source = read(found, constant, "source");
                    String word = ((Enum<?>) (source instanceof Enum ? source : constant)).name();
                    Object number = null;
                    for (int at = 0; number == null && at < NUMBERS.length; at++) {
                        number = read(found, constant, NUMBERS[at]);
                    }
                    Object text = read(found, constant, "stateName");
                    System.out.println(name + " " + word + " " + number + " " + (text == null ? constant : text));
                }
                continue;
            }
            tellOperations(found);
            for (Field field : found.getDeclaredFields()) {
                Class<?> type = field.getType();
                if (Modifier.isStatic(field.getModifiers()) && (type.isPrimitive() || type == String.class)) {
                    field.setAccessible(true);
                    System.out.println(name + " " + field.getName() + " " + field.get(null));
                }
            }
        }
    }

    private static void tellOperations(Class<?> type) throws Exception {
        for (Method method : type.getDeclaredMethods()) {
            if (!method.getName().equals("supportedOperations")) {
                continue;
            }
            for (Object kind : method.getParameterTypes()[0].getEnumConstants()) {
                try {
                    StringBuilder words = new StringBuilder();
                    for (Object operation : (Iterable<?>) opened(method).invoke(null, kind)) {
                        words.append(words.length() == 0 ? "" : ",").append(((Enum<?>) operation).name());
                    }
                    System.out.println(type.getName() + " " + ((Enum<?>) kind).name() + " " + words);
                } catch (InvocationTargetException refused) {
                    // UNKNOWN and ANY: no resource is of them
                }
            }
        }
    }

    private static Object read(Class<?> type, Object constant, String member) throws Exception {
        for (Method method : type.getDeclaredMethods()) {
            if (method.getName().equals(member) && method.getParameterCount() == 0 && isOfObjects(method)) {
                return opened(method).invoke(constant);
            }
        }
        for (Field field : type.getDeclaredFields()) {
            if (field.getName().equals(member) && isOfObjects(field)) {
                return opened(field).get(constant);
            }
        }
        return null;
    }

    private static boolean isOfObjects(Member member) {
        return !Modifier.isStatic(member.getModifiers());
    }

    private static <T extends AccessibleObject> T opened(T member) {
        member.setAccessible(true);
        return member;
    }
}
