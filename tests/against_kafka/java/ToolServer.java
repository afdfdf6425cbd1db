import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Runs the main methods of Kafka's tools one after the other in a warm JVM, each with its own stdin, stdout and stderr.
 *
 * <p>A question on stdin: main class, number of arguments, arguments, standard input (texts with an int length before
 * them). The answer on stdout: exit status, stdout, stderr.
 *
 * <p>A tool that exits does so through Kafka's {@code Exit}: its output ends at that moment and its thread never
 * continues, so nothing that catches everything can add to it. A tool that calls System.exit ends this JVM; whoever
 * asked sees the end of the stream and runs the tool in a JVM of its own.
 */
public final class ToolServer {
    private static final Redirected OUT = new Redirected();
    private static final Redirected ERR = new Redirected();
    private static volatile InputStream stdin = InputStream.nullInputStream();
    /** The run that a thread belongs to: one that an earlier tool left behind must not end the one at hand. */
    private static final InheritableThreadLocal<Run> RUN = new InheritableThreadLocal<>();

    private static final class Run {
        final CountDownLatch done = new CountDownLatch(1);
        int status;
        byte[] out;
        byte[] err;

        synchronized void end(int status) {
            if (done.getCount() > 0) {
                this.status = status;
                out = OUT.take();
                err = ERR.take();
                done.countDown();
            }
        }
    }

    /** Where System.out or System.err lead; classes that took the stream at their start follow as well. */
    private static final class Redirected extends OutputStream {
        private ByteArrayOutputStream target = new ByteArrayOutputStream();

        @Override
        public synchronized void write(int b) {
            target.write(b);
        }

        @Override
        public synchronized void write(byte[] bytes, int offset, int length) {
            target.write(bytes, offset, length);
        }

        synchronized byte[] take() {
            byte[] taken = target.toByteArray();
            target = new ByteArrayOutputStream();
            return taken;
        }
    }

    /** Kafka's {@code Exit} lies in another package since 4.4. */
    private static void catchExits() throws ReflectiveOperationException {
        Class<?> exit;
        try {
            exit = Class.forName("org.apache.kafka.common.utils.Exit");
        } catch (ClassNotFoundException since44) {
            exit = Class.forName("org.apache.kafka.common.utils.internals.Exit");
        }
        Class<?> procedure = Class.forName(exit.getName() + "$Procedure");
        Object ending = Proxy.newProxyInstance(exit.getClassLoader(), new Class<?>[] {procedure}, (self, method, args) -> {
            Run run = RUN.get();
            if (run != null) {
                run.end((Integer) args[0]);
            }
            while (true) {
                LockSupport.park();
            }
        });
        exit.getMethod("setExitProcedure", procedure).invoke(null, ending);
        exit.getMethod("setHaltProcedure", procedure).invoke(null, ending);
    }

    public static void main(String[] args) throws Exception {
        DataInputStream in = new DataInputStream(System.in);
        DataOutputStream answers = new DataOutputStream(new java.io.BufferedOutputStream(System.out));
        System.setOut(new PrintStream(OUT, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(ERR, true, StandardCharsets.UTF_8));
        System.setIn(new InputStream() {
            @Override
            public int read() throws IOException {
                return stdin.read();
            }

            @Override
            public int read(byte[] bytes, int offset, int length) throws IOException {
                return stdin.read(bytes, offset, length);
            }

            @Override
            public int available() throws IOException {
                return stdin.available();
            }
        });
        catchExits();
        while (true) {
            int size = in.read();
            if (size < 0) {
                System.exit(0);
            }
            String main = text(in);
            String[] arguments = new String[in.readInt()];
            for (int i = 0; i < arguments.length; i++) {
                arguments[i] = text(in);
            }
            stdin = new ByteArrayInputStream(text(in).getBytes(StandardCharsets.UTF_8));
            OUT.take();
            ERR.take();
            Run run = new Run();
            Thread thread = new Thread(() -> {
                RUN.set(run);
                run.end(invoke(main, arguments));
            }, "main");
            thread.setDaemon(true);
            thread.start();
            run.done.await();
            answers.writeInt(run.status);
            send(answers, run.out);
            send(answers, run.err);
            answers.flush();
        }
    }

    private static int invoke(String main, String[] arguments) {
        try {
            Class.forName(main).getMethod("main", String[].class).invoke(null, (Object) arguments);
            System.out.flush();
            System.err.flush();
            return 0;
        } catch (InvocationTargetException e) {
            StringWriter trace = new StringWriter();
            e.getCause().printStackTrace(new PrintWriter(trace, true));
            System.err.print("Exception in thread \"main\" " + trace);
            return 1;
        } catch (ReflectiveOperationException e) {
            System.err.println("Error: Could not find or load main class " + main);
            return 1;
        }
    }

    private static String text(DataInputStream in) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static void send(DataOutputStream out, byte[] bytes) throws IOException {
        out.writeInt(bytes.length);
        out.write(bytes);
    }
}
