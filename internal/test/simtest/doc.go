// Package simtest tests whole clusters in simulated time: real Raft, real
// gossip, real members, in one process and in a bubble of testing/synctest,
// where an hour passes in seconds.
//
// The simulation is the world around the members: the network, which loses
// messages of some kinds in some directions (network), disks that outlive a
// process (disk), a log that takes up to 100 ms to commit (network.slow), wrong
// clocks (wrist), processes that crash (process), and
// clients that continuously request IDs (process.run) and
// numbers of sequences (client).
//
// Every simulation ends with an audit: no ID was issued twice, each lies in a
// window that the replicated state machine granted to the very process that
// issued it, each process's IDs increased, and the observed clock was never
// further ahead than the allowed clock offset. No number of a sequence was issued
// twice in a period, strict numbers grew in real time over all members, repeated
// requests got the same answer, and after a change no member issued numbers of
// an earlier generation (numbers). Each number kept to the steps, the bounds and
// the mode of the sequence in its generation; clients change them under load
// (definitions). A simulation with too few of these events fails as well.
//
// Clusters of one to five voters have every kind of fault, among them nonvoters that are down and operators that
// lower the observed clock (TestEveryFault). The test prints how often each kind happened, and fails if one never did.
//
// Programs with ID libraries of their own lease workers on hosts with bad clocks, under the rules
// of "worker run". No two of them may use the same tick of a worker (foreign_test.go).
//
// Healthy histories must not be taken for those of disks that were set back
// (TestInnocents). Each gate simulates 160 of them, and the nightly run 100,000.
//
// Faults and requests are drawn from the seed of the commit or SNOWRAFT_SIM_SEED.
// The members' own random choices and the scheduling of goroutines are not.
// SNOWRAFT_SIM_LOG=debug, info or warn prints the members' logs.
package simtest
