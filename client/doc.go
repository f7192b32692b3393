// Package client gives Go programs IDs and numbers of a Snowraft cluster, in three ways:
//
//   - Direct: a [Client] knows some members, learns the others, and asks whichever is
//     healthy. [IDs] and [Sequence] put the requests of concurrent callers into one call.
//   - Buffered: a [Buffer] fetches IDs ahead, and [Blocks] numbers of a relaxed sequence, so that
//     Next takes nanoseconds.
//   - Embedded: a [Generator] leases a worker from the cluster and issues IDs in this
//     process, also while no member can be reached.
//
// A Client also creates, reads, lists, changes and deletes sequences, and creates and reads layouts.
//
// # What the package guarantees
//
//   - No ID and no number is returned to two callers. IDs and numbers that a failed call may have
//     been given are lost, never returned later.
//   - A call is tried at another member only if doing it twice is harmless, or if the
//     first member said that it did nothing.
//   - Close ends all goroutines and connections that the package started.
package client
