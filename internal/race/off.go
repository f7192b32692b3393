//go:build !race

// Package race reports to tests whether the race detector is on: with it they take about six
// times as long, and keep the processors busy where they would wait.
package race

// Enabled reports whether the race detector is on.
const Enabled = false
