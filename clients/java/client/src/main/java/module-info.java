/** Client of Snowraft: unique, time-ordered 64-bit IDs and sequence numbers. */
module io.snowraft.client {
    exports io.snowraft.client;
    exports io.snowraft.layout;
}
