// Package rpc is what both ends of Snowraft's gRPC API share: the reasons that
// errors carry, and a Granter that asks a member.
package rpc
