package cluster

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/events"
)

// Events records the events that operators review later. Its method may be called from any goroutine.
type Events interface {
	// Note records an event. It must not block.
	Note(kind events.Kind, level slog.Level, text string)
}

// eventsOf returns the recorder of a node's events, which discards them if none is configured.
func eventsOf(cfg Config) Events {
	if cfg.Events == nil {
		return events.Discard
	}
	return cfg.Events
}

func noteHalt(to Events, err error) {
	to.Note(events.Process, slog.LevelError, "member halted: "+err.Error())
}

// jumpNoise is the change between two checks, of the difference of wall clock and monotonic clock, above which the wall clock
// counts as having jumped. Corrections by NTP are slower.
const jumpNoise = 250 * time.Millisecond

// chronicle records the differences between two checks of the members, the leader and the clock. Only the goroutine of report
// uses it.
type chronicle struct {
	events  Events
	self    string            // own ID
	members map[string]Member // nil before the first check with a configuration
	leader  Member            // zero if none is known
	term    uint64
	quorum  Quorum
	clock   clockState
}

// clockState is the last recorded state of this node's clock.
type clockState struct {
	base        int64 // wall - mono, in ms; 0 before the first check
	off, behind bool
}

func (c *chronicle) record(s sighting, members []Member) {
	c.recordLeader(s)
	c.recordMembers(members)
	c.recordQuorum(s.quorum)
}

// recordLeader records which member leads. The elected member itself records its election.
func (c *chronicle) recordLeader(s sighting) {
	switch {
	case s.leader.ID == "" && c.leader.ID != "":
		c.events.Note(events.Election, slog.LevelWarn, fmt.Sprintf("no leader known; %s led in term %d", c.leader.label(), c.term))
	case s.leader.ID != "" && (s.leader.ID != c.leader.ID || s.term != c.term) && s.leader.ID != c.self:
		c.events.Note(events.Election, slog.LevelInfo, fmt.Sprintf("%s leads in term %d", s.leader.label(), s.term))
	}
	c.leader, c.term = s.leader, s.term
}

// recordMembers records which members came, went and changed. A member whose name is not known now keeps its previous name.
func (c *chronicle) recordMembers(members []Member) {
	now := make(map[string]Member, len(members))
	for _, m := range members {
		before, known := c.members[m.ID]
		if m.Name == "" {
			m.Name = before.Name
		}
		now[m.ID] = m
		if c.members != nil {
			c.recordMember(before, m, known)
		}
	}
	for id, before := range c.members {
		if _, stays := now[id]; !stays {
			c.events.Note(events.Membership, slog.LevelInfo, before.withID()+" left the cluster or was removed")
		}
	}
	if len(now) > 0 { // no configuration is known until the first leader is heard
		c.members = now
	}
}

// withID names a member for an event after which another member may have its name.
func (m Member) withID() string { return m.label() + " (" + m.ID + ")" }

func (c *chronicle) recordMember(before, m Member, known bool) {
	if known && before.Name != "" && m.Name != before.Name {
		c.events.Note(events.Membership, slog.LevelInfo, before.withID()+" was renamed to "+m.label())
	}
	switch {
	case !known && m.Voter:
		c.events.Note(events.Membership, slog.LevelInfo, m.withID()+" joined as a voter")
	case !known:
		c.events.Note(events.Membership, slog.LevelInfo, m.withID()+" joined as a nonvoter")
	case m.Voter && !before.Voter:
		c.events.Note(events.Membership, slog.LevelInfo, m.label()+" was promoted to voter")
	case !m.Voter && before.Voter:
		c.events.Note(events.Membership, slog.LevelInfo, m.label()+" lost its vote")
	}
	switch {
	case m.ID == c.self:
	case known && before.Alive && !m.Alive:
		c.events.Note(events.Membership, slog.LevelWarn, m.label()+" is unreachable")
	case known && !before.Alive && m.Alive:
		c.events.Note(events.Membership, slog.LevelInfo, m.label()+" is reachable")
	case known && before.Starts != 0 && m.Starts > before.Starts:
		c.events.Note(events.Membership, slog.LevelInfo, m.label()+" was restarted")
	}
}

// recordQuorum records that quorum was lost or regained.
func (c *chronicle) recordQuorum(q Quorum) {
	lost, was := q.Alive < q.Needed(), c.quorum.Alive < c.quorum.Needed()
	switch {
	case q.Voters == 0 || c.quorum.Voters == 0:
	case lost && !was:
		c.events.Note(events.Membership, slog.LevelError, fmt.Sprintf("quorum lost: %d of %d voters reachable, %d needed", q.Alive, q.Voters, q.Needed()))
	case was && !lost:
		c.events.Note(events.Membership, slog.LevelInfo, fmt.Sprintf("quorum regained: %d of %d voters reachable", q.Alive, q.Voters))
	}
	c.quorum = q
}

// recordClock records jumps of this node's clock, and when the clock becomes wrong or correct again.
func (c *chronicle) recordClock(watch *clock.Watch) {
	now, limits := watch.Now(), watch.Limits()
	was := c.clock
	offset, behind := watch.Offset(), watch.Behind(now)
	c.clock = clockState{base: now.Wall - now.Mono, off: watch.Off(), behind: behind > limits.WaitThreshold}
	if moved := time.Duration(c.clock.base-was.base) * time.Millisecond; was.base != 0 && moved.Abs() > jumpNoise {
		text := fmt.Sprintf("this clock moved backwards by %v", -moved)
		if moved > 0 {
			text = fmt.Sprintf("this clock moved forward by %v, or the machine was suspended", moved)
		}
		c.events.Note(events.Clock, slog.LevelWarn, text)
	}
	switch {
	case c.clock.off && !was.off:
		c.events.Note(events.Clock, slog.LevelError, fmt.Sprintf("this clock is %v from the majority's, limit %v", rounded(offset), limits.MaxOffset))
	case was.off && !c.clock.off:
		c.events.Note(events.Clock, slog.LevelInfo, "this clock agrees with the majority's again")
	}
	switch {
	case c.clock.behind && !was.behind:
		c.events.Note(events.Clock, slog.LevelError, fmt.Sprintf("this clock is %v behind the observed clock, limit %v", rounded(behind), limits.WaitThreshold))
	case was.behind && !c.clock.behind:
		c.events.Note(events.Clock, slog.LevelInfo, "this clock is no longer behind the observed clock")
	}
}

func rounded(d time.Duration) time.Duration {
	if d.Abs() >= time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d
}
