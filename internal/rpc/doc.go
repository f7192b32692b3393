// Package rpc is what both ends of Snowraft's gRPC API share: the reasons that
// errors carry, a layout's form, and a Granter that asks a member.
package rpc
