package io.snowraft.internal.lane;

/**
 * A window [from, until) of ticks on a worker.
 *
 * @param token          fencing token, which is not 0
 * @param observedMillis observed clock of the cluster, Unix milliseconds
 * @param maxWindow      longest window that the cluster grants, in milliseconds; 0 if unknown
 */
record Grant(long worker, long token, long from, long until, long observedMillis, long maxWindow) {
}
