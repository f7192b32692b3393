// Package rpc is the part of Snowraft's gRPC API that clients and members share: the rule of each method, the reasons of
// errors, the conversion of layouts, and a Granter that queries a member. The main types are [Rule] and [Error].
package rpc
