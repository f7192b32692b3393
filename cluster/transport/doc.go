// Package transport carries Raft's messages, and the questions between nodes, over the Raft ports.
//
//   - A [StreamLayer] accepts and dials connections. Each begins with a handshake, inside TLS if the cluster has a secret, in which
//     both sides learn which node and which process the other one is.
//   - A [Guarded] transport passes only messages whose values Raft can handle, and a [Resuming] one retries replication as soon as a
//     member answers heartbeats again.
//   - A [TermClient] requests terms and watermarks on connections of its own.
//
// The package knows no rules of membership or leadership: its [Owner] judges greetings and answers questions.
package transport
