package member

import (
	"cmp"
	"slices"
	"strings"

	"github.com/snowraft/snowraft/internal/limits"
)

const maxNear = 3

// near returns up to maxNear of the visible candidates that a caller may have meant by name, the
// likeliest first: those that differ in case only, then in a few characters, then
// those that begin with name. The order of the candidates does not matter, and the time
// grows with their number and length only.
func near(name string, candidates []string, visible func(string) bool) []string {
	type likely struct {
		name string
		rank int
		off  int // difference of the lengths; bytes
	}
	compare := func(a, b likely) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.off, b.off), cmp.Compare(a.name, b.name))
	}
	var best []likely
	lower := strings.ToLower(name)
	most := mistakes(lower)
	for _, candidate := range candidates {
		c := likely{candidate, distance(lower, strings.ToLower(candidate), most), max(len(candidate)-len(name), len(name)-len(candidate))}
		if c.rank > most {
			if lower == "" || !strings.HasPrefix(strings.ToLower(candidate), lower) {
				continue
			}
			c.rank = most + 1
		}
		at, found := slices.BinarySearchFunc(best, c, compare)
		if found || at == maxNear || candidate == name || !visible(candidate) {
			continue
		}
		best = slices.Insert(best, at, c)
		best = best[:min(len(best), maxNear)]
	}
	var names []string
	for _, c := range best {
		names = append(names, c.name)
	}
	return names
}

// mistakes returns the number of bytes of a name that may be wrong: few in short names,
// because every name is near to them.
func mistakes(name string) int {
	switch {
	case len(name) < 3:
		return 0
	case len(name) < 6:
		return 1
	case len(name) < 12:
		return 2
	}
	return 3
}

// distance returns the number of bytes that must be inserted, removed or changed to turn
// b into a, or most+1 if it is more than most. It computes only the diagonal of width
// 2*most+1 of Levenshtein's table, beyond which the distance is greater anyway.
func distance(a, b string, most int) int {
	far := most + 1
	if len(a) > limits.NameBytes || len(b) > limits.NameBytes || max(len(a)-len(b), len(b)-len(a)) > most {
		return far
	}
	var rows [2][limits.NameBytes + 1]int
	above, row := &rows[0], &rows[1]
	for j := range len(b) + 1 {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		from, until := max(1, i-most), min(len(b), i+most)+1
		row[from-1] = far
		if from == 1 {
			row[0] = i
		}
		least := row[from-1]
		for j := from; j < until; j++ {
			change := above[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			drop := far
			if j < i+most { // cells beyond the diagonal were not computed
				drop = above[j] + 1
			}
			row[j] = min(change, drop, row[j-1]+1, far)
			least = min(least, row[j])
		}
		if least > most {
			return far
		}
		above, row = row, above
	}
	return min(above[len(b)], far)
}
