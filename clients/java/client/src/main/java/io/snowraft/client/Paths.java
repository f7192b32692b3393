package io.snowraft.client;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;

/** Writes names into the paths of requests. */
final class Paths {
    private Paths() {
    }

    /** Returns a text as a part of a path or query, with each special character escaped. */
    static String query(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20").replace("*", "%2A");
    }
}
