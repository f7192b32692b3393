package io.snowraft.internal.json;

/** A number of a JSON document, as its text. */
record JsonNumber(String text) {
}
