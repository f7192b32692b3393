package io.snowraft.layout;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.UUID;

/**
 * Makes UUIDs of version 7 (RFC 9562) from IDs, and IDs from such UUIDs. A tag fills the bits of a UUID that an ID leaves, so that
 * UUIDs of different clusters and layouts differ although their IDs may be equal.
 */
public final class UuidTag {
    /** The tag that fills the bits with zeros. */
    public static final UuidTag ZERO = new UuidTag(BigInteger.ZERO);

    private static final int PAYLOAD_BITS = 74; // bits that version 7 leaves
    private static final int MILLIS_BITS = 48;

    private final BigInteger bits; // 74

    private UuidTag(BigInteger bits) {
        this.bits = bits;
    }

    /** Returns the tag of a layout in a cluster: 74 bits of a SHA-256 over the cluster's ID and the layout's name. */
    public static UuidTag of(String cluster, String layout) {
        byte[] id = cluster.getBytes(StandardCharsets.UTF_8);
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            sha.update("snowraft uuid v7\0".getBytes(StandardCharsets.US_ASCII));
            sha.update(ByteBuffer.allocate(Long.BYTES).putLong(id.length).flip());
            sha.update(id);
            ByteBuffer sum = ByteBuffer.wrap(sha.digest(layout.getBytes(StandardCharsets.UTF_8)));
            long high = (sum.getShort() & 0xffff) >> 6;
            return new UuidTag(BigInteger.valueOf(high).shiftLeft(64).or(unsigned(sum.getLong())));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every Java platform has SHA-256
        }
    }

    /** Returns an ID as a UUID: Unix milliseconds, the version, the ID's other fields, and the lowest bits of the tag. */
    public UUID encode(Layout layout, long id) {
        DecodedId decoded = layout.decode(id);
        checkTicks(layout);
        long millis = decoded.tickMillis();
        if (millis >>> MILLIS_BITS != 0) {
            throw new IllegalArgumentException("ID " + Long.toUnsignedString(id) + " of layout \"" + layout.name() + "\" is from before 1970 or after 10889");
        }
        int room = room(layout);
        BigInteger mask = BigInteger.ONE.shiftLeft(room).subtract(BigInteger.ONE);
        BigInteger payload = unsigned(withoutTime(layout, id)).shiftLeft(room).or(bits.and(mask));
        long high = payload.shiftRight(62).longValue();
        long low = payload.longValue() & (1L << 62) - 1;
        return new UUID(millis << 16 | 0x7000 | high, 0b10L << 62 | low);
    }

    /**
     * Returns the ID from which {@link #encode} made a UUID, without a check of the tag. It throws an {@link IllegalArgumentException} if
     * the UUID does not belong to the layout.
     */
    public static long decode(Layout layout, UUID uuid) {
        checkTicks(layout);
        if (uuid.version() != 7 || uuid.variant() != 2) {
            throw new IllegalArgumentException("UUID " + uuid + ": expected version 7 and the variant of RFC 9562");
        }
        long millis = uuid.getMostSignificantBits() >>> 16;
        long since = millis - layout.epochMillis(); // an epoch so far away that this wraps around is beyond the time field
        long tick = Long.divideUnsigned(since, layout.unitMillis());
        if (millis < layout.epochMillis() || Long.compareUnsigned(tick, layout.ticks()) >= 0
                || Long.remainderUnsigned(since, layout.unitMillis()) != 0) {
            throw new IllegalArgumentException("UUID " + uuid + " is not from the start of a tick of layout \"" + layout.name() + "\"");
        }
        BigInteger payload = BigInteger.valueOf(uuid.getMostSignificantBits() & 0xfff).shiftLeft(62)
                .or(BigInteger.valueOf(uuid.getLeastSignificantBits() & (1L << 62) - 1));
        return withTime(layout, payload.shiftRight(room(layout)).longValue(), tick);
    }

    private static void checkTicks(Layout layout) {
        if (layout.ticksPerMilli() != 0) {
            throw new IllegalArgumentException("the ticks of layout \"" + layout.name() + "\" are shorter than 1 ms, which a UUID of version 7 does not show");
        }
    }

    /** Returns how many bits of the payload are left for the tag, 11 to 74. */
    private static int room(Layout layout) {
        return PAYLOAD_BITS - (layout.bits() - layout.bits(Field.TIME));
    }

    private static long withoutTime(Layout layout, long id) {
        int shift = layout.shift(Field.TIME);
        int above = shift + layout.bits(Field.TIME);
        return (above >= Long.SIZE ? 0 : id >>> above << shift) | id & (1L << shift) - 1;
    }

    private static long withTime(Layout layout, long rest, long tick) {
        int shift = layout.shift(Field.TIME);
        int above = shift + layout.bits(Field.TIME);
        return (above >= Long.SIZE ? 0 : rest >>> shift << above) | tick << shift | rest & (1L << shift) - 1;
    }

    private static BigInteger unsigned(long n) {
        return new BigInteger(1, ByteBuffer.allocate(Long.BYTES).putLong(n).array());
    }
}
