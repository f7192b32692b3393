package cli

import (
	"fmt"
	"time"
)

// progressEvery is the interval between lines of progress.
const progressEvery = 2 * time.Second

// Progress reports how far long work is, on standard error.
type Progress struct {
	app  *App
	next time.Time
}

// Progress begins to report work. Work that takes less than two seconds reports nothing.
func (a *App) Progress() *Progress { return &Progress{a, a.Now().Add(progressEvery)} }

// Show prints a line about the work, unless it printed one within two seconds.
func (p *Progress) Show(format string, args ...any) {
	if now := p.app.Now(); now.After(p.next) {
		p.next = now.Add(progressEvery)
		fmt.Fprintln(p.app.Stderr, "snowraft: "+fmt.Sprintf(format, args...))
	}
}
