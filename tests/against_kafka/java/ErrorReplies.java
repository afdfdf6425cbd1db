import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;

/** Answers each line (key, version, error code, request in hex) with Kafka's error response for it, or "none". */
public class ErrorReplies {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", 4);
            ApiKeys key = ApiKeys.forId(Integer.parseInt(words[0]));
            short version = Short.parseShort(words[1]);
            Throwable error = Errors.forCode(Short.parseShort(words[2])).exception("no");
            ByteBufferAccessor body = new ByteBufferAccessor(ByteBuffer.wrap(HexFormat.of().parseHex(words[3])));
            AbstractResponse response;
            try {
                response = AbstractRequest.parseRequest(key, version, body).request.getErrorResponse(0, error);
            } catch (RuntimeException refused) {
                System.out.println("none " + refused);
                continue;
            }
            if (response == null) {
                System.out.println("none");
                continue;
            }
            ByteBuffer bytes = MessageUtil.toByteBufferAccessor(response.data(), version).buffer();
            byte[] array = new byte[bytes.remaining()];
            bytes.get(array);
            System.out.println(HexFormat.of().formatHex(array));
        }
    }
}
