// Package skew gives one process of an unmodified program its own wall clock. The
// machine's clock stays correct for all other processes. The program may be a static
// binary, which has no replaceable libc.
//
// Programs read the clock without a system call, from the vDSO: a few functions that
// the kernel maps into each process. [Start] stops the new process before its first
// instruction and writes replacement functions into free space of the mapping. Then it
// changes the vDSO's symbol table to name the replacements, which call the kernel's
// functions and add an offset. [Clock.Set] changes the offset at any time from outside.
// The mapping is private to the process, so no other process sees a change.
//
// Guarantees:
//   - CLOCK_REALTIME and CLOCK_REALTIME_COARSE, gettimeofday and time are off by the
//     offset from the first instruction, for all threads of the process. Set is atomic:
//     no reading mixes two offsets.
//   - All other clocks are unchanged, and so are durations.
//   - A reading costs a few nanoseconds more, and no system call.
//
// Limits: the kernel itself still uses the machine's clock. This affects raw system
// calls (also of a program that finds no vDSO), timers set to a wall time, and the times
// of files. After [Start], a program that the process executes has the machine's clock; a
// child that the process forks without executing keeps the offset at the fork. With
// [StartFamily], both have the process's clock. All processes are traced then, so a
// signal and the start of a thread take longer.
//
// The package works on Linux on amd64, for 64-bit programs. [Check] reports whether it
// works on this machine.
package skew
