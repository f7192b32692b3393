// Package disk gives each member its own disk and makes the disk fail: by a power
// loss, a full or slow disk, syncs that lie, failed or torn writes, lost data and
// flipped bits.
//
// A [Disk] is an ext4 file system in an image file. The image stands for the
// platter: data that ext4 has written to the image survives a power loss, and data
// that ext4 holds only in memory does not. [Disk.Interpose] mounts a FUSE file
// system in front of ext4. FUSE forwards every call, except for the injected
// [Faults].
//
// [FlipBit], [Truncate], [CopyDir] and [Wipe] damage the files of a member that is
// down. They need neither root nor a Disk.
//
// The mounts are made in the mount namespace of the calling process, which should
// have its own namespace: then the kernel removes the mounts and the loop devices
// when the process exits for any reason.
package disk
