import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;

/** What RE2/J makes of a pattern and names, a JSON array per line: why it is refused, or which names match. */
public final class Patterns {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode asked = json.readTree(line);
            ObjectNode answer = json.createObjectNode();
            try {
                Pattern pattern = Pattern.compile(asked.get(0).asText());
                var matches = answer.putArray("matches");
                asked.get(1).forEach(name -> matches.add(pattern.matcher(name.asText()).matches()));
            } catch (PatternSyntaxException refused) {
                answer.put("refused", refused.getDescription());
            } catch (RuntimeException failed) {
                answer.put("failed", String.valueOf(failed));
            }
            out.println(json.writeValueAsString(answer));
        }
    }
}
