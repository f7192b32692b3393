// Package raftlog reads what members wrote to their Raft logs, without the members, and
// tells what of it was committed.
//
// An [Archive] takes entries from copies of data directories while a run goes on, before
// members compact them: a copy may have an uncommitted tail, be damaged, or be of a member
// that forgot. After the run, [Open] finds the chain of entries that were committed. It is
// walked backwards from what a majority of the last copies hold, by the term of each entry's
// predecessor, so that a tail which was overwritten drops out. Copies that contradict each
// other are violations of what Raft promises; what no copy shows makes the log incomplete.
//
// [Log.Replay] applies the chain to a state machine of this build, which nobody can have
// planted bugs into from outside, and [Log.Grants] collects what was granted by it.
package raftlog
