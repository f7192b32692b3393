// Package redis serves the Redis protocol of a member, for clients that take
// numbers from Redis INCR: a key is a sequence.
//
// It answers as a Redis does that has no password, one database and speaks
// RESP2, so that client libraries work unchanged. Its promises beyond the
// answers themselves: the answers of a connection come in the order of its
// commands, a number that was issued is never issued again, whatever
// happened to the command, and no bytes that a client sends or does not send
// make it panic or hold more memory than the limits in this package say.
package redis
