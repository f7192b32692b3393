// Package lines bounds the log lines that unauthenticated peers and lasting failures can cause. Without a bound, any host that
// reaches a port could fill the disk. The types are [Limit], [Repeat] and [Once].
package lines

import (
	"sync"
	"time"
)

// Most is the greatest number of lines that a [Limit] allows per Window.
const (
	Most   = 10
	Window = time.Minute
)

// Limit counts the lines of one kind. Its zero value is ready to use. It is safe for concurrent use.
type Limit struct {
	mu    sync.Mutex
	since time.Time
	count int
}

// Allow reports whether a line may be logged now, and counts the line if so. The Window begins with the first line after the
// previous Window.
func (l *Limit) Allow() bool {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count == 0 || now.Sub(l.since) >= Window {
		l.since, l.count = now, 0
	}
	if l.count >= Most {
		return false
	}
	l.count++
	return true
}

// Once remembers which lines were logged. Its zero value is ready to use. It is safe for concurrent use.
type Once struct {
	mu   sync.Mutex
	seen map[string]bool
}

// mostOnce bounds the lines that a Once remembers.
const mostOnce = 1000

// Allow reports whether it is called with this line for the first time. It returns false after too many lines.
func (o *Once) Allow(line string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seen[line] || len(o.seen) >= mostOnce {
		return false
	}
	if o.seen == nil {
		o.seen = make(map[string]bool)
	}
	o.seen[line] = true
	return true
}
