//go:build !race

// Package race reports to tests whether the race detector is on. With the race detector, tests take about six
// times as long, and keep the processors busy where they would otherwise wait.
package race

// Enabled reports whether the race detector is on.
const Enabled = false
