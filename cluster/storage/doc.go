// Package storage is a member's data directory: the member's identity, and Raft's log, term, vote
// and snapshots. A program can open the directory of a stopped member without a node:
//
//	id, err := storage.OpenIdentity(dir)     // locks the directory
//	s, err := storage.Open(id, logger, func(err error) { … })
//	defer id.Close()
//	defer s.Close()
//
// It guarantees:
//
//   - One process at a time has a directory open: the [Identity] owns the lock.
//   - Damage is detected when the directory is opened or, if it happens later, before the damaged
//     content is used ([CorruptError]). After a failed read or write ([DiskError]) the store serves
//     nothing more.
//   - A write that returned nil is on the disk, unless the disk acknowledges writes falsely.
//   - A store that has lost its content is not mistaken for a new one.
package storage
