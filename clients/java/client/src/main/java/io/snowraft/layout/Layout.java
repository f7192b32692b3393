package io.snowraft.layout;

import java.time.Instant;
import java.util.List;

/**
 * A way to split the bits of an ID. A layout never changes. IDs are unsigned numbers of at most 64 bits; those that Snowraft issues
 * have at most 63 bits, so they are never negative.
 *
 * @param name          1 to 64 characters of a-z, 0-9, '.', '_' and '-', beginning with a letter or a digit
 * @param fields        the fields from the highest bits to the lowest
 * @param unitMillis    length of a tick in milliseconds, 1 to 3,600,000
 * @param ticksPerMilli ticks in a millisecond, 2 to 1,000,000, for ticks that are shorter; {@code unitMillis} is 1 then. 0 for others
 * @param epochMillis   start of tick 0 in Unix milliseconds
 * @param datacenter    value of the datacenter field in the IDs of this cluster; 0 without the field
 * @param spread        number of sequences at which a fresh tick can start, by a hash of the tick; 0 and 1 mean that it starts at 0
 * @param leaseOnly     whether other programs make the IDs
 */
public record Layout(String name, List<FieldBits> fields, long unitMillis, long ticksPerMilli, long epochMillis, long datacenter,
        long spread, boolean leaseOnly) {
    private static final long MAX_UNIT_MILLIS = 3_600_000;
    private static final long MAX_TICKS_PER_MILLI = 1_000_000;

    /** Checks the layout. It throws an {@link IllegalArgumentException} that names the first rule that the layout breaks. */
    public Layout {
        fields = List.copyOf(fields);
        if (!name.matches("[a-z0-9][a-z0-9._-]{0,63}")) {
            throw new IllegalArgumentException("layout name \"" + name + "\": expected 1 to 64 of a-z, 0-9 and, except at the start, '.', '_' and '-'");
        }
        FieldBits.check(fields);
        if (unitMillis < 1 || unitMillis > MAX_UNIT_MILLIS) {
            throw new IllegalArgumentException("tick of " + unitMillis + " ms, expected 1 to " + MAX_UNIT_MILLIS + " ms");
        }
        if (ticksPerMilli != 0 && (unitMillis != 1 || ticksPerMilli < 2 || ticksPerMilli > MAX_TICKS_PER_MILLI)) {
            throw new IllegalArgumentException(ticksPerMilli + " ticks per " + unitMillis + " ms, expected 2 to " + MAX_TICKS_PER_MILLI + " ticks per ms");
        }
        int datacenterBits = bits(fields, Field.DATACENTER);
        if (datacenter >>> datacenterBits != 0) {
            throw new IllegalArgumentException("datacenter " + Long.toUnsignedString(datacenter) + " does not fit its " + datacenterBits + " bits");
        }
        int sequenceBits = bits(fields, Field.SEQUENCE);
        if (spread < 0 || spread > 1 && spread > 1L << sequenceBits) {
            throw new IllegalArgumentException("spread " + spread + " exceeds the " + sequenceBits + " bits of the sequence field");
        }
    }

    /** Returns a layout that Snowraft issues IDs of, with the spread of new layouts: a quarter of the sequences, and at least 64. */
    public static Layout of(String name, String fields, long unitMillis, long epochMillis) {
        List<FieldBits> parsed = FieldBits.parse(fields);
        return new Layout(name, parsed, unitMillis, 0, epochMillis, 0, defaultSpread(parsed), false);
    }

    /** Returns the layout of a well-known system or library, such as {@code twitter}; see {@link Presets}. */
    public static Layout preset(String name) {
        return Presets.get(name);
    }

    static long defaultSpread(List<FieldBits> fields) {
        int sequenceBits = bits(fields, Field.SEQUENCE);
        return sequenceBits == 0 ? 0 : Math.min(1L << sequenceBits, Math.max(64, (1L << sequenceBits) / 4));
    }

    private static int bits(List<FieldBits> fields, Field field) {
        return fields.stream().filter(f -> f.field() == field).mapToInt(FieldBits::bits).findFirst().orElse(0);
    }

    /** Returns the width of a field; 0 if the layout does not have it. */
    public int bits(Field field) {
        return bits(fields, field);
    }

    /** Returns the width of all fields together, 1 to 64. */
    public int bits() {
        return fields.stream().mapToInt(FieldBits::bits).sum();
    }

    /** Returns the number of bits below a field; 0 if the layout does not have it. */
    public int shift(Field field) {
        int below = 0;
        for (int i = fields.size() - 1; i >= 0; i--) {
            if (fields.get(i).field() == field) {
                return below;
            }
            below += fields.get(i).bits();
        }
        return 0;
    }

    /** Returns the number of values of a field; 0 if the layout does not have it. */
    public long capacity(Field field) {
        int bits = bits(field);
        return bits == 0 ? 0 : 1L << bits;
    }

    /** Returns the number of ticks that the time field holds: they are 0 to that number, exclusive. */
    public long ticks() {
        return capacity(Field.TIME); // at most 2^63, which is negative here: compare it as an unsigned number
    }

    /**
     * Throws an {@link IllegalArgumentException} with the reason unless the layout can issue IDs at an instant in Unix milliseconds. Such a
     * layout has at most 63 bits, the time highest and at most 62 bits wide, a worker, a sequence, ticks of whole milliseconds and an epoch
     * in the past, and other programs do not make its IDs.
     */
    public void requireIssuing(long nowMillis) {
        String problem = null;
        if (leaseOnly) {
            problem = "only leases workers; issue IDs from another layout";
        } else if (bits() > 63 || bits(Field.TIME) > 62) {
            problem = "has " + bits() + " bits, " + bits(Field.TIME) + " of them time; a layout that issues IDs has at most 63 and 62";
        } else if (bits(Field.SEQUENCE) == 0 || bits(Field.WORKER) == 0) {
            problem = "has no " + (bits(Field.SEQUENCE) == 0 ? "sequence" : "worker") + " field; add one to issue IDs";
        } else if (fields.get(0).field() != Field.TIME) {
            problem = "has " + fields.get(0).field() + " as its highest field; put time first, so that IDs sort by time";
        } else if (ticksPerMilli != 0) {
            problem = "has " + ticksPerMilli + " ticks per ms; a layout that issues IDs has ticks of whole milliseconds";
        } else if (nowMillis < epochMillis) {
            problem = "has its epoch at " + Instant.ofEpochMilli(epochMillis) + ", which is in the future";
        } else if (tickAt(nowMillis) >= ticks()) {
            problem = "has been full since " + Instant.ofEpochMilli(exhaustsAtMillis()) + "; choose a later epoch or more bits of time";
        }
        if (problem != null) {
            throw new IllegalArgumentException("layout \"" + name + "\" " + problem);
        }
    }

    /** Splits an ID into its fields. It throws an {@link IllegalArgumentException} if the ID has bits above those of the layout. */
    public DecodedId decode(long id) {
        if (bits() < Long.SIZE && id >>> bits() != 0) {
            throw new IllegalArgumentException("ID " + Long.toUnsignedString(id) + " has bits above the " + bits() + " of layout \"" + name + "\"");
        }
        long tick = value(id, Field.TIME);
        return new DecodedId(tick, Ticks.millisAt(this, tick), value(id, Field.DATACENTER), value(id, Field.WORKER), value(id, Field.SEQUENCE));
    }

    private long value(long id, Field field) {
        int bits = bits(field);
        return bits == 0 ? 0 : id >>> shift(field) & (1L << bits) - 1;
    }

    /**
     * Joins fields to an ID. It throws an {@link IllegalArgumentException} that names a value that does not fit its field. The datacenter
     * may differ from that of the layout.
     */
    public long encode(long tick, long datacenter, long worker, long sequence) {
        return place(Field.TIME, tick) | place(Field.DATACENTER, datacenter) | place(Field.WORKER, worker) | place(Field.SEQUENCE, sequence);
    }

    private long place(Field field, long value) {
        int bits = bits(field);
        if (value >>> bits != 0) {
            throw new IllegalArgumentException(field + " " + value + " does not fit its " + bits + " bits in layout \"" + name + "\"");
        }
        return value << shift(field);
    }

    /**
     * Returns the tick that contains an instant in Unix milliseconds, rounded down; negative before the epoch. It may be beyond the time
     * field. A result that exceeds 64 bits saturates.
     */
    public long tickAt(long unixMillis) {
        return Ticks.tickAt(this, unixMillis);
    }

    /** Returns the start of a tick in Unix milliseconds, rounded down. The result saturates at the ends of 64 bits. */
    public long millisAt(long tick) {
        return Ticks.millisAt(this, tick);
    }

    /** Returns the first instant without a tick, in Unix milliseconds; it saturates at the greatest 64-bit number. */
    public long exhaustsAtMillis() {
        return Ticks.exhaustsAt(this);
    }
}
