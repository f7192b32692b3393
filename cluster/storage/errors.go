package storage

import (
	"errors"
	"fmt"
)

// CorruptError reports that a file or directory differs from what was written to it.
type CorruptError struct {
	// Path of the damaged file or directory.
	Path string
	// Reason describes the damage.
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged (%s), member halted; "+
		"check the disk, remove this member with 'snowraft member remove', move the data directory away, and start again with an empty one, "+
		"which gets the state from the other members", e.Path, e.Reason)
}

// DiskError reports that a file could not be written, or not read.
type DiskError struct {
	Path string // file that failed
	Err  error  // error of the operating system, or of the file's format
	// Reading reports whether a read failed; the content may then be intact. Otherwise a write failed.
	Reading bool
}

func (e *DiskError) Error() string {
	if e.Reading {
		return fmt.Sprintf("reading %s failed (%v), member halted; "+
			"check the disk for errors, then start the member again", e.Path, e.Err)
	}
	return fmt.Sprintf("writing %s failed (%v), member halted, because the file may be incomplete; "+
		"check the disk for space and errors, then start the member again", e.Path, e.Err)
}

func (e *DiskError) Unwrap() error { return e.Err }

// readError returns the error for a failed read of a store: a CorruptError if its content is damaged, otherwise a DiskError.
func readError(path string, err error) error {
	if _, ok := errors.AsType[*CorruptError](err); ok {
		return err
	}
	if pages, ok := errors.AsType[*brokenPages](err); ok && !pages.unreadable {
		return &CorruptError{Path: path, Reason: pages.reason}
	}
	return &DiskError{Path: path, Err: err, Reading: true}
}
