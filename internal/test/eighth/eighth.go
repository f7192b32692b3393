// Package eighth divides the long checks into the slices of the gate.
package eighth

import "hash/fnv"

// Slices is the number of slices.
const Slices = 8

// Of returns the slice of a check, from 1 to Slices. It depends on the name only, so that new checks move no others.
func Of(name string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return 1 + int(h.Sum32()%Slices)
}
