// Package skew gives one process of an unmodified program a wall clock of its own,
// while the machine's clock stays right for all others: also for a static binary, which
// has no libc that could be replaced.
//
// Programs read the clock without a system call, from the vDSO: a few functions that
// the kernel maps into each process. [Start] stops the new process before its first
// instruction, writes functions of its own into free space of that mapping, and has the
// vDSO's symbol table name those instead. They call the kernel's, then add an offset,
// which [Clock.Set] changes at any time from outside. The mapping is private to the
// process, so that nobody else sees any of it.
//
// What is guaranteed:
//   - CLOCK_REALTIME and CLOCK_REALTIME_COARSE, gettimeofday and time are off by the
//     offset, from the first instruction on, for all threads of the process. An offset is
//     seen whole or not at all: no reading mixes two of them.
//   - All other clocks are true, so that durations are.
//   - A reading costs a few nanoseconds more than without, and no system call.
//
// What is not: who asks the kernel itself is told the machine's time, as are a raw
// system call (also where the program finds no vDSO), a timer that is set to a wall time,
// and the times of files. A program that the process executes has the machine's clock
// again; a child that it forks without executing keeps the offset of that moment.
//
// It works on Linux on amd64, for 64-bit programs. [Check] says whether it does here.
package skew
