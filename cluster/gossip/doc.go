// Package gossip is a node's view of the other nodes: which exist, where they are, which are alive, and how far their clocks are off.
//
// A [View] runs memberlist behind a transport that passes only messages of members' form, sealed if the cluster has a secret. It
// learns of all nodes, members or not, and decides nothing: a [Peer] keeps apart what gossip claims of a node and what the node
// itself said in a handshake.
package gossip
