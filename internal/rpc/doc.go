// Package rpc is the part of Snowraft's gRPC API that both ends share: the rule of each method, the reasons that
// errors carry, a layout's form, and a Granter that queries a member.
package rpc
