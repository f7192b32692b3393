// Package raftlog reads the Raft logs of members without the members, and determines the entries that were committed.
//
// An [Archive] takes entries from copies of data directories during a run, before members compact their logs. A copy may
// have an uncommitted tail, may be damaged, or may come from a member that lost data. After the run, [Open] finds the chain
// of committed entries. It starts at the last entry that a majority of the last copies holds, and follows the term of each
// entry's predecessor backwards. Overwritten tails are thus omitted. Copies that contradict each other violate the
// guarantees of Raft; entries that no copy shows make the log incomplete.
//
// [Log.Replay] applies the chain to a state machine of this build, which has no planted bugs even if the members do.
// [Log.Grants] collects the windows and blocks that the chain granted.
package raftlog
