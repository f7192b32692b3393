package overview

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// collector requests the status of the other members and composes overviews. One goroutine runs it and owns its fields. One
// further goroutine per member makes the requests and sends the results to answers.
type collector struct {
	hub       *Hub
	cancel    context.CancelFunc
	peers     map[string]*peer // keyed by ID, without the own member
	self      peer
	answers   chan answer
	met       int64         // time at which a new member was last seen first, on the monotonic clock, ms
	published clock.Reading // time of the last publication; zero before the first
	print     string        // fingerprint of the last published overview
	// lostLeader is the time since which the own status has no leader, on the monotonic clock in ms; 0 while it has one.
	lostLeader int64
	led        string // ID of the last leader in the own status
}

// peer is the latest information about a member.
type peer struct {
	cancel context.CancelFunc
	asked  bool // a request had a result, or the member has no address
	broken bool // the last request found no connection
	quiet  quiet
	status *snowraftv1.GetStatusResponse
	seen   clock.Reading // arrival time of status
	taken  int64         // time of taking status, on this process's monotonic clock; half of the round trip
	rates  rates
}

// answer is the result of a request to a member.
type answer struct {
	id     string
	status *snowraftv1.GetStatusResponse // nil: see err
	err    error
	sent   clock.Reading
	got    clock.Reading
}

func newCollector(h *Hub, cancel context.CancelFunc) *collector {
	return &collector{hub: h, cancel: cancel, peers: make(map[string]*peer), answers: make(chan answer)}
}

func (c *collector) run(ctx context.Context) {
	defer c.cancel()
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		c.composeIfDue(ctx)
		select {
		case a := <-c.answers:
			c.recordAnswer(a)
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// composeIfDue composes an overview and publishes it if it is due or shows a change.
func (c *collector) composeIfDue(ctx context.Context) {
	now := c.hub.now()
	since := now.Mono - c.published.Mono
	first := c.published == clock.Reading{}
	if !first && since < beat.Milliseconds()-slack {
		return
	}
	own, members := c.hub.source.Status(), c.hub.source.Members()
	c.meet(ctx, own.GetMemberId(), members)
	allowed := refresh
	if !first { // the next overview is due
		allowed = 2 * beat
	}
	if !c.complete() && now.Mono-c.met < allowed.Milliseconds() {
		return
	}
	c.self.hear(own, now, now.Mono)
	o := c.compose(now, members)
	seen := fingerprint(o)
	if !first && since < refresh.Milliseconds()-slack && seen == c.print {
		return
	}
	c.published, c.print = now, seen
	c.hub.publish(c, o)
}

// slack is the largest time by which a tick may come too early, in milliseconds.
const slack = 20

// meet starts requests to new members and stops requests to removed members.
func (c *collector) meet(ctx context.Context, own string, members []*snowraftv1.Member) {
	present := make(map[string]bool, len(members))
	for _, m := range members {
		present[m.GetId()] = true
		if m.GetId() == own {
			continue
		}
		p := c.peers[m.GetId()]
		if p == nil {
			p = &peer{}
			c.peers[m.GetId()], c.met = p, c.hub.now().Mono
		}
		if p.cancel == nil && m.GetApiAddress() != "" {
			asking, cancel := context.WithCancel(ctx)
			p.cancel = cancel
			c.hub.wg.Go(func() { c.ask(asking, m.GetId()) })
		}
		if m.GetApiAddress() == "" {
			p.asked = true // no request to wait for
		}
	}
	for id, p := range c.peers {
		if !present[id] {
			if p.cancel != nil {
				p.cancel()
			}
			delete(c.peers, id)
		}
	}
}

// ask requests a member's status every second until ctx ends. It runs in its own goroutine.
func (c *collector) ask(ctx context.Context, id string) {
	timer := time.NewTicker(refresh)
	defer timer.Stop()
	for {
		a := answer{id: id, sent: c.hub.now()}
		members := c.hub.source.Members() // the member's address may have changed
		if i := slices.IndexFunc(members, func(m *snowraftv1.Member) bool { return m.GetId() == id }); i >= 0 {
			asking, cancel := context.WithTimeout(ctx, askTimeout)
			a.status, a.err = c.hub.source.Ask(asking, members[i])
			cancel()
			a.got = c.hub.now()
			select {
			case c.answers <- a:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
}

// recordAnswer records the result of a request.
func (c *collector) recordAnswer(a answer) {
	p := c.peers[a.id]
	if p == nil {
		return
	}
	p.asked = true
	if a.err != nil {
		p.quiet = p.quiet.after(a.sent.Mono, a.err)
		p.broken = p.quiet.refused || rpc.FromError(a.err).Code == codes.Unavailable
		return
	}
	if a.status.GetMemberId() != a.id {
		p.quiet = p.quiet.after(a.sent.Mono, ErrReplaced)
		p.broken = true
		return
	}
	p.hear(a.status, a.got, (a.sent.Mono+a.got.Mono)/2)
}

func (p *peer) hear(s *snowraftv1.GetStatusResponse, now clock.Reading, taken int64) {
	p.rates.recordCounters(s.GetIssued(), now.Mono)
	p.status, p.seen, p.taken, p.broken, p.asked, p.quiet = s, now, taken, false, true, quiet{}
}

// complete reports whether all peers had a result.
func (c *collector) complete() bool {
	for p := range maps.Values(c.peers) {
		if !p.asked {
			return false
		}
	}
	return true
}

// answers reports whether the member has answered recently.
func (p *peer) answers(now clock.Reading) bool {
	return p.status != nil && !p.broken && now.Mono-p.seen.Mono < fresh.Milliseconds()
}

// byName orders members by name, then by ID.
func byName(a, b *snowraftv1.Member) int {
	return cmp.Or(strings.Compare(a.GetName(), b.GetName()), strings.Compare(a.GetId(), b.GetId()))
}
