// Package contain runs a command under a guard: a second process that holds the command's deadline by its own clock. When the
// guard or its starter ends, so do the command and all its descendants. Linux only.
//
// [Start] is the side of the starter, [Guard] that of the guard.
package contain
