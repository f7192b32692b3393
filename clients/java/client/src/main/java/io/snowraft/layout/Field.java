package io.snowraft.layout;

/** The meaning of a bit field of an ID. */
public enum Field {
    /** Ticks since the layout's epoch. */
    TIME("time"),
    /** A number that is the same in all IDs of a cluster. Discord calls this field worker. */
    DATACENTER("datacenter"),
    /** The issuer within a cluster. Other systems call it machine, shard or process. */
    WORKER("worker"),
    /** The place of an ID among those of its worker and tick. */
    SEQUENCE("sequence");

    private final String text;

    Field(String text) {
        this.text = text;
    }

    /** Returns the field of a name: time, datacenter, worker or sequence. */
    public static Field parse(String name) {
        for (Field field : values()) {
            if (field.text.equals(name)) {
                return field;
            }
        }
        throw new IllegalArgumentException("unknown field \"" + name + "\", expected time, datacenter, worker or sequence");
    }

    /** Returns the name in lower case, as {@link #parse} reads it. */
    @Override
    public String toString() {
        return text;
    }
}
