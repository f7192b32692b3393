// Package member is one member of a Snowraft cluster without its interfaces: the
// state machine, the Raft node that replicates it, and the lanes that issue
// IDs from what it granted.
//
// It adds what none of those knows alone: what a leader owes the cluster, which
// clocks may propose, and how a lane's requests reach the leader.
package member
