import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.oauthbearer.BrokerJwtValidator;
import org.apache.kafka.common.security.oauthbearer.JwtValidatorException;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;

/** Judges the tokens of a file, one per line, as a broker would: keys, tokens, audiences with commas, issuer. */
public final class JudgeTokens {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> configs = new HashMap<>();
        String prefix = "sasl.oauthbearer.";
        configs.put(prefix + "jwks.endpoint.url", Path.of(arguments[0]).toUri().toString());
        configs.put(prefix + "clock.skew.seconds", 30);
        configs.put(prefix + "scope.claim.name", "scope");
        configs.put(prefix + "sub.claim.name", "sub");
        configs.put(prefix + "expected.audience", arguments[2].isEmpty() ? List.of() : List.of(arguments[2].split(",")));
        if (!arguments[3].isEmpty()) {
            configs.put(prefix + "expected.issuer", arguments[3]);
        }
        configs.put(prefix + "allow.unverified.audience", true);
        configs.put(prefix + "allow.unverified.issuer", true);
        AppConfigurationEntry module = new AppConfigurationEntry(
            "OAuthBearerLoginModule", AppConfigurationEntry.LoginModuleControlFlag.REQUIRED, Map.of());
        try (BrokerJwtValidator validator = new BrokerJwtValidator()) {
            validator.configure(configs, "OAUTHBEARER", List.of(module));
            for (String token : Files.readAllLines(Path.of(arguments[1]))) {
                try {
                    OAuthBearerToken judged = validator.validate(token);
                    String scope = String.join(",", new TreeSet<>(judged.scope()));
                    System.out.println(String.join("|", judged.principalName(), scope,
                        String.valueOf(judged.lifetimeMs()), String.valueOf(judged.startTimeMs())));
                } catch (JwtValidatorException refused) {
                    System.out.println("refused");
                }
            }
        }
    }
}
