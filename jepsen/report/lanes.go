package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/history"
)

const (
	// cells is the number of time steps of a lane over the whole run.
	cells = 2000
	// laneRow is the height of a member's lane; leaderRow is the height of its stripe for leadership.
	laneRow, leaderRow = 30, 6
	// saidFor is the validity of a member's status, in nanoseconds, if no newer status follows.
	saidFor = int64(2 * time.Second)
)

// state is the state of a member at a moment: a CSS class and a description.
type state struct{ class, text string }

// The states of members with a fixed description.
var (
	isDown   = state{"down", "no process"}
	isUp     = state{"up", "up"}
	isPaused = state{"paused", "paused"}
)

// lane holds a member's states over the run. A nil cell is not drawn.
type lane [cells]*state

// paint sets the state of the member in [from, to).
func (l *lane) paint(d *digest, from, to int64, s *state) {
	cell := func(at int64) int { return int(math.Round(float64(d.x(at)) * cells / plotWidth)) }
	for i := cell(from); i < cell(to); i++ {
		l[i] = s
	}
}

// draw draws one mark per sequence of cells with the same class. The mark's text is that of the first cell.
func (l *lane) draw(d *digest, p *pane, y, h num, prefix string) {
	at := func(cell int) int64 { return d.zero + int64(float64(cell)/cells*float64(d.end-d.zero)) }
	for from := 0; from < cells; {
		to := from
		for to < cells && (l[to] == l[from] || l[to] != nil && l[from] != nil && l[to].class == l[from].class) {
			to++
		}
		if s := l[from]; s != nil {
			p.between(d, at(from), at(to), y, h, s.class, fmt.Sprintf("%s: %s\n%s", prefix, s.text, d.when(at(from), at(to))))
		}
		from = to
	}
}

// members draws a lane for each member.
func (d *digest) members() *figure {
	f := &figure{
		Title: "Members",
		About: "status of each member, twice per second: leadership in the upper stripe, state in the lower one, starts as marks below",
	}
	for _, k := range [][2]string{
		{"leader", "leader"}, {"up", "up"}, {"trouble", "up, with a problem"}, {"silent", "up, no answer"}, {"paused", "paused"},
		{"down", "no process"}, {"restart", "start"}, {"term", "new term"},
	} {
		f.Legend = append(f.Legend, key{Class: k[0], Name: k[1]})
	}
	names := d.hosts()
	p := f.pane(laneRow * max(len(names), 1))
	for i, name := range names {
		top := num(laneRow * i)
		p.label(top+laneRow/2, name)
		if i > 0 {
			p.Grid = append(p.Grid, top)
		}
		d.member(p, top, name)
	}
	return f
}

// member draws a member's lane.
func (d *digest) member(p *pane, top num, name string) {
	var states, leads lane
	processes := slices.DeleteFunc(slices.Clone(d.Processes), func(s check.ProcessSpan) bool { return s.Member != name || s.Generator })
	gone := d.zero
	for _, process := range processes {
		states.paint(d, gone, process.From, &isDown)
		states.paint(d, process.From, process.To, &isUp)
		gone = max(gone, process.To)
	}
	states.paint(d, gone, d.end, &isDown)
	d.said(name, processes, &states, &leads)
	for _, fault := range d.Faults {
		if strings.HasPrefix(fault.Name, "pause") && slices.Contains(fault.Hosts, name) {
			states.paint(d, fault.From, fault.To, &isPaused)
		}
	}
	leads.draw(d, p, top+3, leaderRow, name)
	states.draw(d, p, top+3+leaderRow, laneRow-leaderRow-11, name)
	d.starts(p, top+laneRow-7, name, processes)
	for _, r := range d.leaderTerms {
		if r.leader == name {
			p.between(d, r.seen, r.seen, top+2, leaderRow+2, "mark term", fmt.Sprintf("%s leads in term %d\n%s", name, r.term, d.when(r.seen, r.seen)))
		}
	}
}

// said paints the states from a member's statuses while one of its processes ran.
func (d *digest) said(name string, processes []check.ProcessSpan, states, leads *lane) {
	statuses := slices.DeleteFunc(slices.Clone(d.Statuses), func(s history.Status) bool { return s.Member != name })
	for i, s := range statuses {
		until := s.Return + saidFor
		if i+1 < len(statuses) {
			until = min(until, statuses[i+1].Return)
		}
		at := slices.IndexFunc(processes, func(p check.ProcessSpan) bool { return p.From <= s.Return && s.Return < p.To })
		if at < 0 {
			continue
		}
		until = min(until, processes[at].To)
		switch {
		case s.Error != "":
			states.paint(d, s.Call, until, &state{"silent", s.Error})
		case s.Problem != "":
			states.paint(d, s.Return, until, &state{"trouble", s.Problem})
		}
		if s.Error == "" && s.LeaderID == s.MemberID && s.MemberID != "" {
			leads.paint(d, s.Return, until, &state{"leader", fmt.Sprintf("leads in term %d", s.Term)})
		}
	}
}

// starts draws a mark for each start of a process. Starts in the same cell share one mark.
func (d *digest) starts(p *pane, y num, name string, processes []check.ProcessSpan) {
	for i := 0; i < len(processes); {
		first := processes[i]
		title := fmt.Sprintf("%s: start %d\n%s", name, first.Start, d.when(first.From, first.From))
		if i > 0 {
			title += "\nprevious process: " + processes[i-1].Exit
		}
		next := i + 1
		for next < len(processes) && d.x(processes[next].From)-d.x(first.From) < plotWidth/num(cells) {
			next++
		}
		if next > i+1 {
			title = fmt.Sprintf("%s: starts %d to %d (%d)\n%s", name, first.Start, processes[next-1].Start, next-i, d.when(first.From, processes[next-1].From))
		}
		p.between(d, first.From, first.From, y, 6, "mark restart", title)
		i = next
	}
}

// hosts returns the names of all hosts that ran members, the founders first.
func (d *digest) hosts() []string {
	names := slices.Clone(d.Header.Members)
	for _, process := range d.Processes {
		if !process.Generator && !slices.Contains(names, process.Member) {
			names = append(names, process.Member)
		}
	}
	return names
}
