// Package load requests IDs and numbers at the highest or at a fixed rate. It measures
// the rate, latency percentiles, failures by reason, and duplicates. [Run] carries out a
// [Plan] and returns a [Result].
//
// # What the package guarantees
//
//   - In the open loop (Plan.Rate) calls are due at fixed times, regardless of
//     the calls before. The latency of a call counts from its due time. So a server that
//     stalls is charged for every delayed call, including calls that no client
//     was free to make.
//   - A reported duplicate is a duplicate. A number reported as checked was
//     compared with all other checked numbers of all clients.
//   - Memory is bounded. Latencies take constant memory. The check stops at its
//     memory limit and counts the numbers that it skips.
//
// The package depends only on the API of a cluster and on the Go client, not on the server.
package load
