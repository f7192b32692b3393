/** Writes 64-bit IDs as JSON strings with Jackson. */
module io.snowraft.jackson {
    requires transitive com.fasterxml.jackson.annotation;
    requires transitive com.fasterxml.jackson.databind;

    exports io.snowraft.jackson;
}
