package trust

import (
	"crypto/sha256"
	"maps"
)

// maxVerdicts bounds each of the two maps of verdicts, because any client can present texts.
const maxVerdicts = 10_000

type textHash [sha256.Size]byte

// verdicts holds the verdicts of a Remote. Texts of strangers displace only each other, the oldest first; in one LRU they
// would displace good texts. The methods require the lock of the Remote.
type verdicts struct {
	good      map[textHash]*verdict // texts that were valid at the last answer
	strangers map[textHash]*verdict
	arrivals  []textHash // texts of strangers; a ring once full
	oldest    int
}

func newVerdicts() verdicts {
	return verdicts{good: make(map[textHash]*verdict), strangers: make(map[textHash]*verdict)}
}

// find returns the verdict on a text; nil if there is none.
func (m *verdicts) find(key textHash) *verdict {
	if v, ok := m.good[key]; ok {
		return v
	}
	return m.strangers[key]
}

// meet adds a verdict to those of strangers.
func (m *verdicts) meet(v *verdict) {
	if len(m.arrivals) < maxVerdicts {
		m.arrivals = append(m.arrivals, v.key)
	} else {
		delete(m.strangers, m.arrivals[m.oldest])
		m.arrivals[m.oldest] = v.key
		m.oldest = (m.oldest + 1) % maxVerdicts
	}
	m.strangers[v.key] = v
}

// keep stores a verdict as good, and returns the verdict that counts for its text.
func (m *verdicts) keep(v *verdict) *verdict {
	if kept, ok := m.good[v.key]; ok {
		return kept
	}
	if len(m.good) >= maxVerdicts {
		maps.DeleteFunc(m.good, func(_ textHash, v *verdict) bool { return !v.word.Load().fresh() })
	}
	if len(m.good) < maxVerdicts {
		delete(m.strangers, v.key)
		m.good[v.key] = v
		v.good.Store(true)
	}
	return v
}

// refuse moves a good verdict to those of strangers.
func (m *verdicts) refuse(v *verdict) {
	if m.good[v.key] == v {
		delete(m.good, v.key)
		v.good.Store(false)
		m.meet(v)
	}
}
