// Package member is one member of a Snowraft cluster without its interfaces: the
// state machine, the Raft node that replicates it, and the lanes that issue
// IDs from granted windows.
//
// It adds the parts that connect them: the duties of a leader, the check of the clocks that may
// propose, and the way of a lane's requests to the leader. The main type is [Member].
package member
