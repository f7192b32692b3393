package io.snowraft.client;

/**
 * The counts of a {@link Sequence#reconcile}: what became of the reservations.
 *
 * @param confirmed numbers that are in use
 * @param voided    numbers that are void
 * @param left      numbers that stay open
 * @param overtaken reservations that another caller reserved again or settled meanwhile
 */
public record Reconciled(int confirmed, int voided, int left, int overtaken) {
}
