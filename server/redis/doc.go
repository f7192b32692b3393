// Package redis serves the Redis protocol of a member, for clients that get numbers from Redis INCR. A key is a sequence.
//
// The server answers like a Redis server without a password, with one database, RESP2, and RESP3 on request, so that client libraries work
// unchanged. It also guarantees that the answers of a connection come in the order of its commands, and that an issued number
// is never issued again, whatever happened to the command. No bytes that a client sends or omits make the server panic or
// hold more memory than the limits in this package and in server/conn. The main type is [Server].
package redis
