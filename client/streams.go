package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/mux"
	"github.com/snowraft/snowraft/internal/rpc"
)

const (
	// sameMember is the time for which a client sends to one member while there is no objection to it: waking one process
	// costs less than waking all by turns. Then the client chooses again, so that the calls of each client go to all members.
	sameMember = 100 * time.Millisecond
	// streamRest is the time for which a client prefers other members: no stream to the member could be opened, the member
	// answered that it cannot issue, or it is slow.
	streamRest = time.Second
	// streamsRest is the same for a member that does not implement the method of the stream.
	streamsRest = time.Minute
	// idleStream is the time after which a stream without requests is closed, so that it uses no resources of the member.
	idleStream = time.Minute
	// openWithin is the time limit for opening a stream.
	openWithin = 2 * time.Second
)

// streams sends the requests of one unary method on streams of another method, with one stream for each member. It is faster
// than the calls of a channel. Requests that it cannot send, and failed ones, go to the channel, which decides on retries.
type streams struct {
	channel *channel
	method  string
	answer  func() mux.Answer
	// toLeader prefers the leader, which answers fastest.
	toLeader bool
	idle     time.Duration // idleStream
	asked    time.Time     // last request for the leader; guarded by mu

	mu      sync.Mutex
	lines   map[string]*line // keyed by address
	current *line
	chosen  time.Time // time at which current was chosen
}

// line holds the stream to one member.
type line struct {
	member string
	stream *mux.Stream // nil if none is open or begins
	rests  time.Time   // end of the time for which other members are preferred
}

func newStreams(ch *channel, method string, answer func() mux.Answer) *streams {
	s := &streams{channel: ch, method: method, answer: answer, idle: idleStream, lines: make(map[string]*line)}
	ch.streams = s
	return s
}

// send sends a request to a member. If it returns false, nothing was sent and arrived is not called. Otherwise, arrived is
// called once, by a goroutine that it must not block: with the answer, which is valid until arrived returns, or with the
// failed try.
func (s *streams) send(deadline time.Time, req mux.Request, arrived func(mux.Answer, *former)) (member string, ok bool) {
	member, to := s.choose()
	if to == nil {
		return "", false
	}
	c := &pending{streams: s, member: member, arrived: arrived}
	c.Call = mux.Call{Request: req, Receiver: c, Began: time.Now(), Deadline: deadline}
	return member, to.Send(&c.Call)
}

// pending is a request that was sent to a member.
type pending struct {
	mux.Call
	streams *streams
	member  string
	arrived func(mux.Answer, *former)
}

// Receive implements mux.Receiver.
func (c *pending) Receive(a mux.Answer, err error) {
	s := c.streams
	s.report(TryInfo{Method: s.method, Member: c.member, Took: time.Since(c.Began), Err: err})
	switch _, ended := errors.AsType[*mux.Ended](err); {
	case err == nil:
		s.answered(c.member, nil)
		c.arrived(a, nil)
	case ended: // a call may return a more specific error
		c.arrived(nil, &former{})
	default:
		s.answered(c.member, err)
		c.arrived(nil, &former{member: c.member, err: err})
	}
}

func (s *streams) report(about TryInfo) {
	if hook := s.channel.caller.opts.hooks.Try; hook != nil {
		hook(about)
	}
}

// choose returns the stream to use and its member; nil if none is open. It opens a stream to the best member if that member
// has none.
func (s *streams) choose() (member string, to *mux.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if c := s.current; c != nil && c.usable() && now.Sub(s.chosen) < sameMember && !s.channel.caller.standing.suspected(c.member) {
		return c.member, c.stream
	}
	if s.toLeader && now.Sub(s.asked) >= lookEvery { // a transfer of leadership breaks no connection
		s.asked = now
		s.channel.members.changed()
	}
	best := s.best(now, func(*line) bool { return true })
	if best == nil {
		return "", nil
	}
	if !best.usable() {
		s.open(best)
		// Without a stream to a member that answers, a call is better than the stream of a member that may not.
		suspected := s.channel.caller.standing.suspected
		trusted := !suspected(best.member)
		if best = s.best(now, func(l *line) bool { return l.usable() && (!trusted || !suspected(l.member)) }); best == nil {
			return "", nil
		}
	}
	s.current, s.chosen = best, now
	return best.member, best.stream
}

// best returns the line to a member with the least objections, among the lines that qualify; nil if none does. Requires the lock.
func (s *streams) best(now time.Time, qualifies func(*line) bool) (best *line) {
	least, equal := 0, 0
	for _, addr := range s.channel.caller.standing.known() {
		l := s.lines[addr]
		if l == nil {
			l = &line{member: addr}
			s.lines[addr] = l
		}
		if !qualifies(l) {
			continue
		}
		objection, _ := s.channel.caller.standing.objection(addr)
		if now.Before(l.rests) {
			objection += resting
		}
		if objection *= 2; s.toLeader && !s.channel.caller.standing.leads(addr) {
			objection++ // less than any other objection
		}
		if best == nil || objection < least {
			best, least, equal = l, objection, 0
		}
		if objection == least {
			if equal++; rand.IntN(equal) == 0 {
				best = l
			}
		}
	}
	return best
}

func (l *line) usable() bool {
	return l.stream != nil && l.stream.Open()
}

// closeOthers closes the streams to all addresses except these, so that their connections can be closed.
func (s *streams) closeOthers(addrs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for addr, l := range s.lines {
		if !slices.Contains(addrs, addr) {
			delete(s.lines, addr)
			if l.stream != nil {
				l.stream.Finish()
			}
		}
	}
}

// open starts to open a stream. Requires the lock.
func (s *streams) open(l *line) {
	if l.stream != nil || time.Now().Before(l.rests) || s.channel.caller.life.Err() != nil {
		return
	}
	l.stream = mux.New(s.answer(), func(a mux.Answer) { s.channel.caller.receipts.Keep(a) }, 0)
	go s.run(l, l.stream)
}

// run opens a stream and receives from it until it ends.
func (s *streams) run(l *line, m *mux.Stream) {
	ctx, cancel := context.WithCancel(s.channel.caller.life)
	defer cancel()
	defer m.FinishUnused(s.idle)()
	var opened time.Time
	ctx = context.WithValue(ctx, tryKey{}, &try{only: l.member, standing: s.channel.caller.standing})
	err := m.Run(func() (grpc.ClientStream, error) {
		defer time.AfterFunc(openWithin, cancel).Stop()
		stream, err := s.channel.caller.conn.NewStream(s.channel.caller.receipts.Bring(ctx), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, s.method)
		opened = time.Now()
		return stream, err
	})
	s.ended(l, err, time.Since(opened))
}

// ended notes that a stream ended. If the stream lived for long, its member or a proxy ended it; the next one may live as
// long, so the member does not rest.
func (s *streams) ended(l *line, err error, lived time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.stream = nil
	switch {
	case status.Code(err) == codes.Unimplemented: // the word of the member or of a proxy before it
		l.rests = time.Now().Add(streamsRest)
	case lived < streamRest:
		l.rests = time.Now().Add(streamRest)
	}
}

// slow notes that a member is slow: the member rests. If all members rest, the next chosen one is also used for sameMember.
func (s *streams) slow(member string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lines[member]; l != nil {
		l.rests = time.Now().Add(streamRest)
		if s.current == l {
			s.current = nil
		}
	}
}

// answers reports whether a member answers a request that it can answer at once. Each answer counts, even that there is no
// such method.
func (s *streams) answers(member string) bool {
	ctx, cancel := context.WithTimeout(s.channel.caller.life, memoryTimeout)
	defer cancel()
	mine := context.WithValue(ctx, tryKey{}, &try{only: member, standing: s.channel.caller.standing})
	_, _ = grpc_health_v1.NewHealthClient(s.channel.caller.conn).Check(mine, &grpc_health_v1.HealthCheckRequest{})
	return ctx.Err() == nil
}

// answered notes that a member answered, with an error or nil. If another member may not return that error, the member
// rests.
func (s *streams) answered(member string, err error) {
	s.channel.caller.standing.trust(member)
	if err == nil {
		return
	}
	if r, ok := rpc.ReasonOf(rpc.FromError(err).Reason); ok && r.Repeat == rpc.RepeatYes {
		s.slow(member)
	}
}
