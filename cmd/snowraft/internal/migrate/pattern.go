package migrate

import (
	"fmt"
	"slices"
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

// mappingsOf returns the mappings of a flag, which accepts no malformed one.
func mappingsOf(texts []string) (all []mapping) {
	for _, text := range texts {
		m, _ := parseMapping(text)
		all = append(all, m)
	}
	return all
}

// counterOf returns the name of the counter that a sequence replaces: the inverse of sequenceOf.
func counterOf(mappings []mapping, name string) (string, error) {
	for _, m := range mappings {
		star, ok := m.to.match(name)
		if !ok {
			continue
		}
		if m.from.star && !m.to.star {
			break // any of several counters
		}
		counter := m.from.before
		if m.from.star {
			counter += star + m.from.after
		}
		if sequenceOf(mappings, counter) == name {
			return counter, nil
		}
	}
	if !slices.ContainsFunc(mappings, func(m mapping) bool { _, ok := m.to.match(name); return ok }) && sequenceOf(mappings, name) == name {
		return name, nil
	}
	return "", fmt.Errorf("no counter of --map has this sequence")
}
