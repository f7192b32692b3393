//go:build !unix

package serve

// foreground reports whether this process may set the modes of a terminal.
func foreground(int) bool { return true }
