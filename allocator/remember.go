//go:build !mutants

package allocator

func remember(string, Grant) {}

func remembered(string) (Grant, bool) { return Grant{}, false }
