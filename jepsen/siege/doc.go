// Package siege measures what hostile traffic costs clients: calls of all protocols at full rate, with and without strangers in
// turns.
package siege
