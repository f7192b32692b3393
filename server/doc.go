// Package server is the faces of a member: gRPC, health and metrics.
//
// It turns requests into calls of the member and errors into statuses that say
// what happened and what to do. Calls that only the leader can serve are
// forwarded to it, once, over the same public API.
package server
