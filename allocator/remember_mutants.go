//go:build mutants

package allocator

import "sync"

// memory outlives an Issuer, as a file would that a lane trusts after a restart:
// the bug mutant.ReuseWindow.
var memory sync.Map // lane's name -> Grant

func remember(holder string, g Grant) { memory.Store(holder, g) }

func remembered(holder string) (Grant, bool) {
	g, ok := memory.Load(holder)
	if !ok {
		return Grant{}, false
	}
	return g.(Grant), true
}
