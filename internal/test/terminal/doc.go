// Package terminal opens terminals for tests. Only tests import it.
package terminal
