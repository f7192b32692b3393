// Package disk gives each member a disk of its own, and everything that can go
// wrong with one: the power fails, it is full, it is slow, it lies about what it
// has stored, it tears a write, it refuses one, it forgets or turns bits.
//
// A [Disk] is an ext4 file system in an image file, and the image is the platter:
// what ext4 has written there survives a power failure, what it still holds in
// memory does not. [Disk.Interpose] puts a FUSE file system before it that passes
// everything on except for the [Faults] that it was told to make.
//
// Damage to the files of a member that is down is done by [FlipBit], [Truncate],
// [CopyDir] and [Wipe], which need neither root nor a Disk.
//
// The mounts are made in the mount namespace of the calling process, which should
// be one of its own: then they, and the loop devices, are gone when it ends,
// whatever ends it.
package disk
