// Package cluster is one node of a Raft cluster: consensus, its log and
// snapshots on disk, gossip, membership, leadership, and the clock offsets
// between the nodes.
//
// The package and those below it are Snowraft's own: they may change in any release and promise nothing to importers.
// Programs import client, snowflake, sequence and proto/snowraft/v1.
//
// It replicates opaque commands into a raft.FSM that it is handed and knows
// nothing of what they mean. Guarantees:
//
//   - A proposal that returns nil was committed. One that fails with
//     [ErrNotLeader] was never appended. Any other failure leaves the outcome
//     unknown ([ErrUnknownOutcome]), and must be treated so.
//   - Gossip finds nodes and carries their addresses; it never edits the voter
//     list. Nodes join as nonvoters, the leader promotes them, and only an
//     explicit removal takes them out.
//   - Nodes of different clusters refuse each other, in gossip and in every
//     Raft connection. So do nodes at a reused address.
//   - What is damaged on disk is detected before it is used; the node halts.
package cluster
