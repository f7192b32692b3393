package trust

import (
	"crypto/sha256"
	"maps"
)

// maxVerdicts bounds each of the two maps of verdicts, because any client can present texts.
const maxVerdicts = 10_000

type textHash [sha256.Size]byte

// verdictCache holds the verdicts of a Remote. Texts of unknown callers displace only each other, the oldest first; in one LRU they
// would displace good texts. The methods require the lock of the Remote.
type verdictCache struct {
	good      map[textHash]*verdict // texts that were valid at the last answer
	untrusted map[textHash]*verdict
	arrivals  []textHash // texts of unknown callers; a ring once full
	oldest    int
}

func newVerdictCache() verdictCache {
	return verdictCache{good: make(map[textHash]*verdict), untrusted: make(map[textHash]*verdict)}
}

// find returns the verdict on a text; nil if there is none.
func (m *verdictCache) find(key textHash) *verdict {
	if v, ok := m.good[key]; ok {
		return v
	}
	return m.untrusted[key]
}

// addUntrusted adds a verdict to those of unknown callers.
func (m *verdictCache) addUntrusted(v *verdict) {
	if len(m.arrivals) < maxVerdicts {
		m.arrivals = append(m.arrivals, v.key)
	} else {
		delete(m.untrusted, m.arrivals[m.oldest])
		m.arrivals[m.oldest] = v.key
		m.oldest = (m.oldest + 1) % maxVerdicts
	}
	m.untrusted[v.key] = v
}

// addGood stores a verdict as good, and returns the verdict that counts for its text.
func (m *verdictCache) addGood(v *verdict) *verdict {
	if kept, ok := m.good[v.key]; ok {
		return kept
	}
	if len(m.good) >= maxVerdicts {
		maps.DeleteFunc(m.good, func(_ textHash, v *verdict) bool { return !v.word.Load().fresh() })
	}
	if len(m.good) < maxVerdicts {
		delete(m.untrusted, v.key)
		m.good[v.key] = v
		v.good.Store(true)
	}
	return v
}

// demote moves a good verdict to those of unknown callers.
func (m *verdictCache) demote(v *verdict) {
	if m.good[v.key] == v {
		delete(m.good, v.key)
		v.good.Store(false)
		m.addUntrusted(v)
	}
}
