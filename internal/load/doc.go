// Package load requests IDs and numbers as fast as they come, or at a fixed rate,
// and measures that: rate, latency percentiles, failures by reason, and whether
// everything that came was different.
//
// # What the package guarantees
//
//   - In the open loop (Plan.Rate) calls are due at fixed times, whatever became of
//     those before, and latency counts from when a call was due: a server that
//     stalls is charged for every call that it held up, also those that no client
//     was free to make.
//   - A reported duplicate is one. A number reported as checked was
//     compared with everything else that was checked, over all clients.
//   - Memory is bounded: latencies take the same memory however many they are, and
//     the check ends, and says so, where it would need more than it may have.
//
// The package knows the interfaces of a cluster from outside (gRPC, HTTP, Redis protocol,
// the Go client) and nothing of what is behind them.
package load
