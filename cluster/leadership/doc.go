// Package leadership has the rules by which voters agree on a leader, beyond those of Raft: a [Succession] elects without a timeout
// when the leader's process has exited, a [Verifier] confirms that a leader was not replaced, and a [Replication] holds what followers
// acknowledged to their leader. [Elections] counts the elections that a node won, by cause.
package leadership
