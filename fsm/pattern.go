package fsm

import (
	"cmp"
	"fmt"
	"strings"
)

// wildcard stands in a pattern for one or more characters of a name other than a slash.
const wildcard = "*"

// CheckPattern returns an error unless pattern is that of a template: the form of a sequence's name, with a wildcard in
// at least one of the parts between slashes, and with at most one in each.
func CheckPattern(pattern string) error {
	if err := CheckSequenceName(pattern); err != nil {
		return fmt.Errorf("pattern: %w", err)
	}
	if !strings.Contains(pattern, wildcard) {
		return fmt.Errorf("pattern %q: has no %q, so it matches one name only; create that sequence instead", pattern, wildcard)
	}
	for part := range strings.SplitSeq(pattern, "/") {
		if strings.Count(part, wildcard) > 1 {
			return fmt.Errorf("pattern %q: part %q has two %q; use one, which matches one or more characters except a slash", pattern, part, wildcard)
		}
	}
	return nil
}

// matches reports whether a checked pattern matches a name.
func matches(pattern, name string) bool {
	for {
		part, patterns, more := strings.Cut(pattern, "/")
		text, names, also := strings.Cut(name, "/")
		if more != also || !matchesPart(part, text) {
			return false
		}
		if !more {
			return true
		}
		pattern, name = patterns, names
	}
}

func matchesPart(part, text string) bool {
	before, after, wild := strings.Cut(part, wildcard)
	if !wild {
		return part == text
	}
	return len(text) > len(before)+len(after) && strings.HasPrefix(text, before) && strings.HasSuffix(text, after)
}

// meet reports whether some name matches both of two checked patterns.
func meet(a, b string) bool {
	p, q := strings.Split(a, "/"), strings.Split(b, "/")
	if len(p) != len(q) {
		return false
	}
	for i := range p {
		if !meetParts(p[i], q[i]) {
			return false
		}
	}
	return true
}

// meetParts reports whether some text matches both parts. Two parts with wildcards match a text that begins with the
// longer of their beginnings and ends with the longer of their ends, if one of each begins or ends the other.
func meetParts(p, q string) bool {
	before, after, wild := strings.Cut(p, wildcard)
	others, end, both := strings.Cut(q, wildcard)
	switch {
	case !wild:
		return matchesPart(q, p)
	case !both:
		return matchesPart(p, q)
	}
	return (strings.HasPrefix(before, others) || strings.HasPrefix(others, before)) &&
		(strings.HasSuffix(after, end) || strings.HasSuffix(end, after))
}

// specificity compares two patterns: negative if a is more specific. The longer text before the first wildcard decides,
// then the smaller number of wildcards, then the longer text around them. It is 0 for patterns that are equally specific.
func specificity(a, b string) int {
	stars := func(pattern string) int { return strings.Count(pattern, wildcard) }
	return cmp.Or(
		cmp.Compare(strings.Index(b, wildcard), strings.Index(a, wildcard)),
		cmp.Compare(stars(a), stars(b)),
		cmp.Compare(len(b), len(a)),
	)
}
