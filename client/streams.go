package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/snowraft/snowraft/internal/rpc"
)

const (
	// sameMember is the time for which a client sends to one member while nothing speaks against it: waking one process
	// costs less than waking all by turns. Then it chooses again, so that the calls of each client go to all members.
	sameMember = 100 * time.Millisecond
	// streamRest is the time for which a member is passed over while others are there: it could open no stream, answered
	// that it cannot issue, or is slow.
	streamRest = time.Second
	// streamsRest is the rest of a member that has no such streams.
	streamsRest = time.Minute
	// idleStream is the time after which a stream without requests ends, so that it takes nothing of the member.
	idleStream = time.Minute
	// openWithin is the time that opening a stream may take.
	openWithin = 2 * time.Second
)

// streams carries the requests of one unary method over streams of another one, a stream for each member. It is a shorter way
// beside the calls of a channel: what it cannot carry, or what fails, is for the channel, which knows what to try again.
type streams struct {
	channel *channel
	method  string
	answer  func() carriedAnswer
	// toLeader: the leader has the shortest way to answers.
	toLeader bool
	idle     time.Duration // idleStream
	asked    time.Time     // the last question about the leader; guarded by mu

	mu      sync.Mutex
	lines   map[string]*line // by address
	current *line
	chosen  time.Time // current
}

// line is the way to one member.
type line struct {
	member  string
	pipe    *pipe // nil: none is open
	opening bool
	rests   time.Time // until when
}

func newStreams(ch *channel, method string, answer func() carriedAnswer) *streams {
	s := &streams{channel: ch, method: method, answer: answer, idle: idleStream, lines: make(map[string]*line)}
	ch.streams = s
	return s
}

// send sends a request to a member. It returns false if nothing was sent, and nothing will arrive. Otherwise, arrived is called
// once, by a goroutine that it must not hold up: with the answer, which is valid until arrived returns, or with the try that failed.
func (s *streams) send(deadline time.Time, req carriedRequest, arrived func(carriedAnswer, *former)) (member string, ok bool) {
	p := s.choose()
	if p == nil {
		return "", false
	}
	return p.member, p.send(&letter{carriedRequest: req, arrived: arrived, began: time.Now(), deadline: deadline})
}

// landed passes on what became of a request.
func (s *streams) landed(p *pipe, l *letter, a carriedAnswer, err error) {
	s.tell(TryInfo{Method: s.method, Member: p.member, Took: time.Since(l.began), Err: err})
	switch {
	case a != nil:
		s.answered(p.member, nil)
		l.arrived(a, nil)
	case errors.Is(err, errStreamEnded): // the call learns more
		l.arrived(nil, &former{})
	default:
		s.answered(p.member, err)
		l.arrived(nil, &former{member: p.member, err: err})
	}
}

func (s *streams) tell(about TryInfo) {
	if hook := s.channel.caller.opts.hooks.Try; hook != nil {
		hook(about)
	}
}

// choose returns the pipe to use; nil if none is open. It opens one if that is so, or a better one is due.
func (s *streams) choose() *pipe {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if c := s.current; c != nil && c.usable() && now.Sub(s.chosen) < sameMember && !s.channel.caller.standing.suspected(c.member) {
		return c.pipe
	}
	if s.toLeader && now.Sub(s.asked) >= lookEvery { // a transfer of leadership breaks no connection
		s.asked = now
		s.channel.members.changed()
	}
	best := s.best(now, func(*line) bool { return true })
	if best == nil {
		return nil
	}
	if !best.usable() {
		s.open(best)
		if best = s.best(now, (*line).usable); best == nil {
			return nil
		}
	}
	s.current, s.chosen = best, now
	return best.pipe
}

// best returns the line to the member that least speaks against, among those that qualify; nil if none does. Requires the lock.
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
			objection += avoided
		}
		if objection *= 2; s.toLeader && !s.channel.caller.standing.leads(addr) {
			objection++ // less than anything else
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
	if l.pipe == nil {
		return false
	}
	return l.pipe.open()
}

// keep ends the streams to other addresses than these, so that the connections end.
func (s *streams) keep(addrs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for addr, l := range s.lines {
		if !slices.Contains(addrs, addr) {
			delete(s.lines, addr)
			if l.pipe != nil {
				l.pipe.finish()
			}
		}
	}
}

// open begins to open a stream. Requires the lock.
func (s *streams) open(l *line) {
	if l.opening || time.Now().Before(l.rests) || s.channel.caller.life.Err() != nil {
		return
	}
	l.opening = true
	go s.run(l)
}

// run opens a stream and receives from it until it ends.
func (s *streams) run(l *line) {
	ctx, cancel := context.WithCancel(s.channel.caller.life)
	defer cancel()
	var lived time.Duration
	late := time.AfterFunc(openWithin, cancel)
	ctx = context.WithValue(ctx, tryKey{}, &try{only: l.member, standing: s.channel.caller.standing})
	stream, err := s.channel.caller.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, s.method)
	late.Stop()
	if err == nil {
		opened := time.Now()
		p := &pipe{member: l.member, stream: stream, cancel: cancel, answer: s.answer(), letters: make(map[uint64]*letter)}
		p.landed = func(l *letter, a carriedAnswer, err error) { s.landed(p, l, a, err) }
		s.opened(l, p)
		defer p.tend(s.idle)()
		err = p.receive()
		lived = time.Since(opened)
	}
	s.ended(l, err, lived)
}

func (s *streams) opened(l *line, p *pipe) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.pipe = p
}

// ended notes that a stream ended. One that lived for long was ended by its member or by a proxy, and the next may live as long.
func (s *streams) ended(l *line, err error, lived time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.pipe, l.opening = nil, false
	switch {
	case refused(err):
		l.rests = time.Now().Add(streamsRest)
	case lived < streamRest:
		l.rests = time.Now().Add(streamRest)
	}
}

// slow notes that a member takes long: it rests. If all members rest, the one that is chosen next stays for its time too.
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

// answers reports whether a member answers, for a request that it must answer at once. Each answer counts, also that there is no
// such method.
func (s *streams) answers(member string) bool {
	ctx, cancel := context.WithTimeout(s.channel.caller.life, memoryPatience)
	defer cancel()
	mine := context.WithValue(ctx, tryKey{}, &try{only: member, standing: s.channel.caller.standing})
	_, _ = grpc_health_v1.NewHealthClient(s.channel.caller.conn).Check(mine, &grpc_health_v1.HealthCheckRequest{})
	return ctx.Err() == nil
}

// answered notes what a member answered: with an error that another member need not have, it rests.
func (s *streams) answered(member string, err error) {
	s.channel.caller.standing.trust(member)
	if err == nil {
		return
	}
	if r, ok := rpc.ReasonOf(rpc.FromError(err).Reason); ok && r.Repeat == rpc.RepeatYes {
		s.slow(member)
	}
}
