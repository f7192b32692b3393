package migrate

import (
	"fmt"
	"strings"
)

// pattern matches names of counters. Its only * matches any text.
type pattern struct {
	before, after string
	star          bool
}

func parsePattern(s string) (p pattern, err error) {
	p.before, p.after, p.star = strings.Cut(s, "*")
	if s == "" || strings.Contains(p.after, "*") {
		return p, fmt.Errorf("pattern %q: expected a name with at most one *", s)
	}
	return p, nil
}

// match reports whether the pattern matches a name, and returns the text that * matches.
func (p pattern) match(name string) (star string, ok bool) {
	if !p.star {
		return "", name == p.before
	}
	if len(name) < len(p.before)+len(p.after) || !strings.HasPrefix(name, p.before) || !strings.HasSuffix(name, p.after) {
		return "", false
	}
	return name[len(p.before) : len(name)-len(p.after)], true
}

// mapping gives the counters that a pattern matches the names of sequences.
type mapping struct {
	from, to pattern
}

func parseMapping(s string) (m mapping, err error) {
	from, to, ok := strings.Cut(s, "=")
	if !ok {
		return m, fmt.Errorf("mapping %q: expected PATTERN=NAME, such as 'order:*=orders/*'", s)
	}
	if m.from, err = parsePattern(from); err != nil {
		return m, err
	}
	if m.to, err = parsePattern(to); err == nil && m.to.star && !m.from.star {
		err = fmt.Errorf("mapping %q: the name has a *, and the pattern has none", s)
	}
	return m, err
}

// sequenceOf returns the name of the sequence that replaces a counter, by the first mapping whose pattern matches. Without one, it is
// the counter's own name.
func sequenceOf(mappings []mapping, name string) string {
	for _, m := range mappings {
		if star, ok := m.from.match(name); ok {
			if m.to.star {
				return m.to.before + star + m.to.after
			}
			return m.to.before
		}
	}
	return name
}
