import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.errors.InvalidMetadataException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Kafka's generated message classes behind a pipe: one question on stdin, one answer on stdout, until stdin ends.
 *
 * <p>A question is a letter and its operands (numbers big-endian, texts and bytes with an int length before them):
 *
 * <pre>
 * V class                      -> text "lowest highest"
 * T class from to bytes        -> bytes written in version "to" of what was read in version "from"
 * W class version bytes        -> JSON text of what was read, with record batches given by their size
 * J class version json         -> bytes of what Kafka's JSON converter reads
 * H                            -> text, per line "key version requestHeader responseHeader"
 * E                            -> text, per line "code name retriable refreshesMetadata" of every error
 * </pre>
 *
 * An answer is 0 and the result, or 1 and the text of the exception.
 */
public final class KafkaClasses {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Class<?>> CLASSES = new HashMap<>();

    public static void main(String[] args) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
        // Whatever a library prints must not get between the answers.
        System.setOut(new PrintStream(System.err, true));
        while (true) {
            int letter = in.read();
            if (letter < 0) {
                return;
            }
            byte[] result;
            int status = 0;
            boolean hasClass = letter != 'H' && letter != 'E';
            boolean hasBody = hasClass && letter != 'V';
            String className = hasClass ? text(in) : "";
            short version = hasBody ? in.readShort() : 0;
            short target = letter == 'T' ? in.readShort() : version;
            byte[] body = hasBody ? bytes(in) : new byte[0];
            try {
                result = answer(letter, className, version, target, body);
            } catch (InvocationTargetException e) {
                status = 1;
                result = e.getCause().toString().getBytes(StandardCharsets.UTF_8);
            } catch (Exception | StackOverflowError e) {
                status = 1;
                result = e.toString().getBytes(StandardCharsets.UTF_8);
            }
            out.writeByte(status);
            out.writeInt(result.length);
            out.write(result);
            out.flush();
        }
    }

    private static byte[] answer(int letter, String name, short version, short target, byte[] body) throws Exception {
        switch (letter) {
            case 'V': {
                Message empty = instance(name);
                String range = empty.lowestSupportedVersion() + " " + empty.highestSupportedVersion();
                return range.getBytes(StandardCharsets.UTF_8);
            }
            case 'T':
                return write(read(name, version, body), target);
            case 'W': {
                Message message = read(name, version, body);
                Method convert = converter(name).getMethod("write", message.getClass(), short.class, boolean.class);
                return JSON.writeValueAsBytes(convert.invoke(null, message, version, false));
            }
            case 'J': {
                Method convert = converter(name).getMethod("read", JsonNode.class, short.class);
                return write((Message) convert.invoke(null, JSON.readTree(body), version), version);
            }
            case 'H':
                return headers().getBytes(StandardCharsets.UTF_8);
            case 'E':
                return errors().getBytes(StandardCharsets.UTF_8);
            default:
                throw new IllegalArgumentException("no such question: " + (char) letter);
        }
    }

    private static Message read(String name, short version, byte[] body) throws Exception {
        Message message = instance(name);
        ByteBufferAccessor buffer = new ByteBufferAccessor(ByteBuffer.wrap(body));
        message.read(buffer, version);
        if (buffer.remaining() != 0) {
            throw new IllegalStateException(buffer.remaining() + " bytes left over");
        }
        return message;
    }

    private static byte[] write(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        if (buffer.hasRemaining()) {
            throw new IllegalStateException(buffer.remaining() + " bytes fewer written than sized");
        }
        return buffer.array();
    }

    private static String headers() {
        StringBuilder lines = new StringBuilder();
        for (ApiMessageType type : ApiMessageType.values()) {
            for (int v = type.lowestSupportedVersion(); v <= type.highestSupportedVersion(true); v++) {
                short version = (short) v;
                lines.append(type.apiKey()).append(' ').append(v).append(' ')
                    .append(type.requestHeaderVersion(version)).append(' ')
                    .append(type.responseHeaderVersion(version)).append('\n');
            }
        }
        return lines.toString();
    }

    private static String errors() {
        StringBuilder lines = new StringBuilder();
        for (Errors error : Errors.values()) {
            lines.append(error.code()).append(' ').append(error.name()).append(' ')
                .append(error.exception() instanceof RetriableException).append(' ')
                .append(error.exception() instanceof InvalidMetadataException).append('\n');
        }
        return lines.toString();
    }

    private static Message instance(String name) throws Exception {
        return (Message) load(name).getDeclaredConstructor().newInstance();
    }

    private static Class<?> converter(String name) throws ClassNotFoundException {
        return load(name + "JsonConverter");
    }

    private static Class<?> load(String name) throws ClassNotFoundException {
        Class<?> known = CLASSES.get(name);
        if (known == null) {
            known = Class.forName(name);
            CLASSES.put(name, known);
        }
        return known;
    }

    private static String text(DataInputStream in) throws IOException {
        return new String(bytes(in), StandardCharsets.UTF_8);
    }

    private static byte[] bytes(DataInputStream in) throws IOException {
        byte[] found = new byte[in.readInt()];
        in.readFully(found);
        return found;
    }
}
