import java.lang.reflect.Field;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractResponse;

/** Prints, for each API, the versions whose answers make a client throttle itself (KIP-219): key, then versions. */
public class ClientThrottling {
    public static void main(String[] args) throws Exception {
        Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        sun.misc.Unsafe unsafe = (sun.misc.Unsafe) field.get(null);
        for (ApiKeys key : ApiKeys.values()) {
            String name = key == ApiKeys.OFFSET_FOR_LEADER_EPOCH ? "OffsetsForLeaderEpoch" : key.name;
            Class<?> type;
            try {
                type = Class.forName("org.apache.kafka.common.requests." + name + "Response");
            } catch (ClassNotFoundException e) {
                continue; // gone with ZooKeeper
            }
            // The method looks at the API and the version alone, so that an instance without data will do.
            AbstractResponse response = (AbstractResponse) unsafe.allocateInstance(type);
            Field api = AbstractResponse.class.getDeclaredField("apiKey");
            unsafe.putObject(response, unsafe.objectFieldOffset(api), key);
            StringBuilder line = new StringBuilder().append(key.id);
            for (short version = key.oldestVersion(); version <= key.latestVersion(true); version++) {
                if (response.shouldClientThrottle(version)) {
                    line.append(' ').append(version);
                }
            }
            System.out.println(line);
        }
    }
}
