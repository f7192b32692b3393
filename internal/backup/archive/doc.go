// Package archive keeps the backups of clusters at a place: a directory, or a prefix in a bucket of S3. The [Name] of a backup
// shows its cluster, log index, term and time. A backup appears complete or not at all. In a directory, only the owner can read it.
//
// Everything that a place returns is hostile: names that are not those of backups are ignored, and [Read] verifies every byte.
// The main type is [Place].
package archive
