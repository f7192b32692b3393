// Package backup is the format of backup files: the state of a cluster at one log index.
//
// The parts of a file are, with big-endian integers:
//
//	8 bytes   "SNOWBACK"
//	4 bytes   version of the format
//	4 bytes   length of the header, at most 1 MiB
//	          the header, a protobuf command.v1.BackupHeader
//	          the state, as the state machine writes snapshots
//	32 bytes  SHA-256 of all bytes before
//
// [Read] accepts a file only if every byte is as [Write] wrote it. A backup holds the secret of codes, if a sequence has codes, and
// no other: of tokens and nonces it has only hashes. The main type is [Backup].
package backup
