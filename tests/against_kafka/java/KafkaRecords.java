import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.ConvertedRecords;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.Time;

/**
 * Kafka's record classes behind a pipe, until stdin ends. A question is a letter and its operands (numbers big-endian,
 * bytes with an int length before them, -1 for null):
 *
 * <pre>
 * R bytes                                   -> text: a line per batch, "valid" or "invalid" first, and per record
 * D byte magic, long first offset, bytes    -> bytes converted down; then the stats are in the text of S
 * S                                         -> text: temporary memory and records converted of the last D
 * B byte magic, byte codec, byte append time?, long base offset, long append time, long producer id,
 *   short epoch, int sequence, byte transactional?, int rows, each: long timestamp, bytes key, bytes value,
 *   int headers, each: bytes name, bytes value   -> bytes of the batch
 * M long producer id, short epoch, byte committed?, int coordinator epoch, long timestamp, long offset, int leader
 *   epoch                                        -> bytes of the marker's batch
 * </pre>
 *
 * An answer is 0 and the result, or 1 and the text of the exception, with an int length before it.
 */
public final class KafkaRecords {
    private static String stats = "";

    public static void main(String[] args) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
        System.setOut(new PrintStream(System.err, true));
        for (int letter = in.read(); letter >= 0; letter = in.read()) {
            byte[] result;
            int status = 0;
            try {
                result = answer(letter, in);
            } catch (RuntimeException e) {
                status = 1;
                result = e.toString().getBytes(StandardCharsets.UTF_8);
            }
            out.writeByte(status);
            out.writeInt(result.length);
            out.write(result);
        }
        out.flush();
    }

    private static byte[] answer(int letter, DataInputStream in) throws IOException {
        switch (letter) {
            case 'R':
                return read(bytes(in)).getBytes(StandardCharsets.UTF_8);
            case 'D': {
                byte magic = in.readByte();
                long firstOffset = in.readLong();
                MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(bytes(in)));
                ConvertedRecords<? extends org.apache.kafka.common.record.Records> converted =
                    records.downConvert(magic, firstOffset, Time.SYSTEM);
                stats = converted.recordConversionStats().temporaryMemoryBytes() + " "
                    + converted.recordConversionStats().numRecordsConverted();
                return taken(((MemoryRecords) converted.records()).buffer());
            }
            case 'S':
                return stats.getBytes(StandardCharsets.UTF_8);
            case 'B':
                return build(in);
            case 'M': {
                long producerId = in.readLong();
                short epoch = in.readShort();
                ControlRecordType type = in.readByte() == 1 ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
                EndTransactionMarker marker = new EndTransactionMarker(type, in.readInt());
                long timestamp = in.readLong();
                long offset = in.readLong();
                return taken(MemoryRecords.withEndTransactionMarker(
                    offset, timestamp, in.readInt(), producerId, epoch, marker).buffer());
            }
            default:
                throw new IllegalArgumentException("no question begins with " + letter);
        }
    }

    private static byte[] build(DataInputStream in) throws IOException {
        byte magic = in.readByte();
        Compression codec = Compression.of(CompressionType.forId(in.readByte())).build();
        TimestampType type = in.readByte() == 1 ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME;
        if (magic == 0) {
            type = TimestampType.NO_TIMESTAMP_TYPE;
        }
        long baseOffset = in.readLong();
        long appendTime = in.readLong();
        MemoryRecordsBuilder builder = MemoryRecords.builder(ByteBuffer.allocate(1 << 16), magic, codec, type, baseOffset,
            appendTime, in.readLong(), in.readShort(), in.readInt(), in.readByte() == 1, -1);
        int rows = in.readInt();
        for (int row = 0; row < rows; row++) {
            long timestamp = in.readLong();
            byte[] key = bytes(in);
            byte[] value = bytes(in);
            List<Header> headers = new ArrayList<>();
            for (int left = in.readInt(); left > 0; left--) {
                String name = new String(bytes(in), StandardCharsets.UTF_8);
                headers.add(new RecordHeader(name, bytes(in)));
            }
            builder.append(timestamp, key, value, headers.toArray(new Header[0]));
        }
        return taken(builder.build().buffer());
    }

    private static String read(byte[] data) {
        StringBuilder text = new StringBuilder();
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(data)).batches()) {
            text.append(batch.isValid() ? "valid" : "invalid");
            text.append(" magic=").append(batch.magic()).append(" codec=").append(batch.compressionType().id);
            text.append(" base=").append(batch.baseOffset()).append(" last=").append(batch.lastOffset());
            text.append(" type=").append(batch.timestampType().id).append(" max=").append(batch.maxTimestamp());
            text.append(" producer=").append(batch.producerId()).append(',').append(batch.producerEpoch());
            text.append(',').append(batch.baseSequence()).append(',').append(batch.lastSequence());
            text.append(" transactional=").append(batch.isTransactional() ? 1 : 0);
            text.append(" control=").append(batch.isControlBatch() ? 1 : 0);
            text.append(" horizon=").append(batch.deleteHorizonMs().isPresent() ? batch.deleteHorizonMs().getAsLong() : -1);
            text.append('\n');
            for (Record record : batch) {
                record.ensureValid();
                text.append(record.offset()).append(' ').append(record.timestamp()).append(' ').append(record.sequence());
                text.append(' ').append(part(record.key())).append(' ').append(part(record.value()));
                for (Header header : record.headers()) {
                    text.append(' ').append(part(ByteBuffer.wrap(header.key().getBytes(StandardCharsets.UTF_8))));
                    text.append('=').append(header.value() == null ? "null" : part(ByteBuffer.wrap(header.value())));
                }
                text.append('\n');
            }
        }
        return text.toString();
    }

    private static String part(ByteBuffer data) {
        return data == null ? "null" : "'" + Base64.getEncoder().encodeToString(taken(data.duplicate())) + "'";
    }

    private static byte[] taken(ByteBuffer buffer) {
        byte[] data = new byte[buffer.remaining()];
        buffer.get(data);
        return data;
    }

    private static byte[] bytes(DataInputStream in) throws IOException {
        int size = in.readInt();
        if (size < 0) {
            return null;
        }
        byte[] data = new byte[size];
        in.readFully(data);
        return data;
    }
}
