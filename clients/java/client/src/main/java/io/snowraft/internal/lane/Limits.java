package io.snowraft.internal.lane;

/**
 * The greatest errors of a clock that are tolerated.
 *
 * @param waitThreshold greatest time by which the clock may be behind the observed clock, in milliseconds
 * @param maxOffset     greatest time by which the clock may be ahead of the majority's, in milliseconds
 * @param swap          whether to issue while the clock is behind
 */
record Limits(long waitThreshold, long maxOffset, boolean swap) {
    /** The defaults of a cluster, which apply until it reports its own. */
    static final Limits DEFAULT = new Limits(1000, 500, false);
}
