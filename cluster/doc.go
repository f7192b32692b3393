// Package cluster implements one node of a Raft cluster: consensus, its log and snapshots on disk, gossip, membership,
// leadership, and the clock offsets between the nodes.
//
// The package and those below it are Snowraft's own: they may change in any release and promise nothing to importers.
// Programs import client, snowflake, sequence and proto/snowraft/v1.
//
// The package replicates opaque commands into the raft.FSM of its caller and does not interpret them. Guarantees:
//
//   - A proposal that returns nil was committed. A proposal that fails with [ErrNotLeader] was never appended. After any
//     other failure, treat the outcome as unknown ([ErrUnknownOutcome]).
//   - Gossip finds nodes and carries their addresses; it never changes the list of voters. Nodes join as nonvoters, the
//     leader promotes them, and only an explicit removal takes them out.
//   - Nodes of different clusters refuse each other, in gossip and on every Raft connection. A node also refuses a caller
//     that expects another node at its address.
//   - A node detects damaged data on its disk before it uses the data, and halts.
package cluster
