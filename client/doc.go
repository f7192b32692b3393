// Package client provides Go programs with IDs and numbers from a Snowraft cluster, in three ways:
//
//   - Direct: a [Client] starts with some members, learns the others and calls healthy ones.
//     [IDs] and [Sequence] combine the requests of concurrent callers into shared calls.
//   - Buffered: a [Buffer] fetches IDs in advance, and [Blocks] fetches numbers of a relaxed
//     sequence in advance, so that Next takes nanoseconds.
//   - Embedded: a [Generator] leases a worker from the cluster and issues IDs in this
//     process, even while no member can be reached.
//
// A Client also creates, reads, lists, changes and deletes sequences and templates, and creates and reads layouts.
//
// # What the package guarantees
//
//   - No ID and no number is returned to two callers. IDs and numbers that members may have issued
//     for a failed call are lost: they are never returned later.
//   - The client retries a call at another member only if a repetition is harmless, or if the
//     first member reported that it did nothing.
//   - Close stops all goroutines and closes all connections that the package started.
package client
