//go:build !linux

package clock

// Unsynchronised returns false: it is not known on this platform.
func Unsynchronised() bool { return false }
