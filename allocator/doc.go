// Package allocator turns granted windows into IDs, and granted blocks into the
// numbers of sequences, from memory.
//
// The package is Snowraft's own: it may change in any release and promises nothing to importers. Programs
// import client, snowflake, sequence and proto/snowraft/v1.
//
// The cluster grants a window, a half-open range of ticks on one worker, by a committed command. An [Issuer]
// holds one worker in each of its lanes, keeps the windows ahead of the clock in the background, and answers
// callers without a request to a member. It gets its windows from a [Granter], and does not know whether the
// Granter proposes to Raft or calls a remote server.
//
// # What the package guarantees
//
//   - Every ID is issued once. A lane issues only inside windows for which
//     this process received a grant, and its position within them only grows. This
//     does not depend on a clock, which only chooses among granted cells.
//   - IDs of one lane strictly increase in the order in which calls return,
//     even when the lane continues on another worker. The only exception is the
//     rollback policy swap, after the clock moved backwards.
//   - Every ID is greater than the floor ("after") of its request.
//   - No tick is used further ahead of the clock than [Config.MaxAhead].
//   - Nothing is issued while this process's clock cannot be trusted, see
//     [clock.Watch], or is behind a lane's own position by more than the wait
//     threshold. Every refusal ends once its cause is gone.
//
// # How it works
//
// A lease is a lane's hold on one worker. Its position is one 64-bit word, the
// next cell (tick, sequence) to issue. A caller that wants n IDs advances it by n
// cells with one compare-and-swap, for any n. The word is linear: a full tick
// carries over into the next tick. Closing a lease swaps in an impossible value, so
// a caller that read the lease before cannot take from it afterwards. The value
// that is swapped out is the last position.
//
// Each lane has one goroutine, which alone calls the Granter. Callers take no
// lock and allocate nothing unless they have to wait. While they wait, they read
// the clock repeatedly, because it may jump in either direction.
//
// # Sequences
//
// A [Sequence] issues the numbers of one sequence from blocks that its
// [BlockGranter] grants. In addition to its invariants it guarantees:
//
//   - Numbers ascend (with a negative increment descend) in the order in which calls
//     return, as long as generation and period stay.
//   - No number of a period that has ended by this process's clock is chosen, unless
//     the cluster has just confirmed that the period continues.
//   - An impossible block is ignored: no response of the cluster makes a Sequence
//     repeat or miscount numbers within a generation and period.
//
// Idle sequences have no goroutine, and cost no more than their memory.
package allocator
