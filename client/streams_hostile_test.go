package client

import (
	"context"
	"io"
	"math"
	"testing"
	"testing/synctest"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/mux"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Answers that belong to no request have no effect. A request whose answer is an error without a code is repeated as a call, and
// a request whose answer is empty fails.
func TestStreamSurvivesStrangeAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := startStreams(t, 1)
		m := f.members[0]
		for name, strange := range map[string]*snowraftv1.StreamIdsResponse{
			"an error without a code": {Error: &spb.Status{}},
			"an empty answer":         {},
		} {
			m.hangs()
			asked, done := m.asked.Load(), make(chan error, 1)
			go func() {
				_, err := c.NextID(within(t, patience))
				done <- err
			}()
			until(t, "a request is in progress", func() bool { return m.asked.Load() > asked })
			m.does(nil)
			strange.Id = m.carriers.last.Load()
			m.carriers.each(func(s *carrierOfFake) {
				for _, id := range []uint64{1, strange.GetId() + 1, math.MaxUint64} {
					s.send(&snowraftv1.StreamIdsResponse{Id: id, Response: m.issue(&snowraftv1.GenerateIdsRequest{})})
				}
				s.send(strange)
				s.send(strange)
			})
			if err := <-done; (err != nil) != (strange.GetError() == nil) {
				t.Errorf("%s: %v", name, err)
			}
			askAll(t, c, 4, 10)
		}
		if n := m.carriers.opened(); n != 1 {
			t.Errorf("%d streams, want 1", n)
		}
	})
}

// A request on a stream takes the latest deadline of its callers to the member. The deadline of a caller without one follows
// from the client's timeout.
func TestStreamCarriesDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const timeout = 5 * time.Second
		f, c := startStreams(t, 1, WithTimeout(timeout))
		m := f.members[0]
		left := make(chan time.Duration, 1)
		m.does(func(ctx context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
			deadline, _ := ctx.Deadline()
			left <- time.Until(deadline)
			return m.issue(req), nil
		})
		for _, test := range []struct {
			ctx         context.Context
			least, most time.Duration
		}{
			{within(t, 2*time.Second), 0, 2 * time.Second},
			{t.Context(), timeout / 2, timeout},
			{within(t, time.Minute), 2 * timeout, time.Minute},
		} {
			carried := m.carried.Load()
			if _, err := c.NextID(test.ctx); err != nil {
				t.Fatal(err)
			}
			if got := <-left; got <= test.least || got > test.most || m.carried.Load() == carried {
				t.Errorf("%v are left at the member, on a stream: %t; want %v to %v", got, m.carried.Load() > carried, test.least, test.most)
			}
		}
	})
}

// A name that gRPC cannot encode fails the calls with that name, and leaves the stream to the others.
func TestMalformedNameEndsNoStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := startStreams(t, 1)
		for what, next := range map[string]func(context.Context) (int64, error){
			"an ID": c.IDs("\xff").Next, "an ID above a floor": c.IDs("\xff").Session(1).Next, "a number": c.Sequence("\xff").Next,
		} {
			if _, err := next(within(t, patience)); err == nil {
				t.Errorf("%s: no error", what)
			}
		}
		if open := f.members[0].carriers.each(func(*carrierOfFake) {}); open != 1 || !chooses(c.idStreams) {
			t.Errorf("%d streams are open, want 1", open)
		}
		carried := f.members[0].carried.Load()
		askAll(t, c, 1, 3)
		if n := f.members[0].carried.Load() - carried; n != 3 {
			t.Errorf("the stream carried %d of 3 requests", n)
		}
	})
}

// A member that does not answer at all is the last choice, also if all other members are slow, as over a long distance. A member
// whose stream rests comes after an address that no member advertises, and a follower's stream before that of a bad leader.
func TestChoiceOfStream(t *testing.T) {
	t.Parallel()
	const leader, follower, alias = "leader:1", "follower:1", "alias:1"
	now := time.Now()
	for _, test := range []struct {
		rest, suspect []string
		want          string
	}{
		{nil, nil, leader},
		{[]string{leader}, nil, follower},
		{[]string{leader, follower}, nil, alias},
		{[]string{leader, follower, alias}, nil, leader},
		{[]string{follower, alias}, []string{leader}, follower},
		{[]string{alias}, []string{leader, follower}, alias},
		{nil, []string{leader, follower, alias}, leader},
	} {
		c, err := New([]string{alias})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s, standing := c.numberStreams, c.leader.caller.standing
		standing.learn([]string{leader, follower, alias}, []string{leader, follower})
		standing.led(leader)
		for _, addr := range test.rest {
			s.lines[addr] = &line{member: addr, rests: now.Add(time.Second)}
		}
		for _, addr := range test.suspect {
			standing.suspect(addr)
		}
		if got := s.best(now, func(*line) bool { return true }); got.member != test.want {
			t.Errorf("resting %v, suspected %v: best() = %s, want %s", test.rest, test.suspect, got.member, test.want)
		}
	}
}

// endlessStream is a stream without answers. begun is closed at the first read.
type endlessStream struct {
	grpc.ClientStream
	begun chan struct{}
	ends  <-chan struct{}
}

func (s *endlessStream) RecvMsg(any) error {
	close(s.begun)
	<-s.ends
	return io.EOF
}

func (*endlessStream) CloseSend() error { return nil }

// While the stream of a member that answers is closed, a call to it is better than the stream of a member that may not answer.
func TestStreamOfSuspectedMemberIsAvoided(t *testing.T) {
	t.Parallel()
	const resting, silent = "resting:1", "silent:1"
	c, err := New([]string{resting, silent})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, standing := c.idStreams, c.ids.caller.standing
	s.lines[resting] = &line{member: resting, rests: time.Now().Add(time.Hour)}
	open := mux.New(nil, nil, 0)
	begun := make(chan struct{})
	stream := &endlessStream{begun: begun, ends: t.Context().Done()}
	go func() { _ = open.Run(func() (grpc.ClientStream, error) { return stream, nil }) }()
	<-begun
	s.lines[silent] = &line{member: silent, stream: open}
	if member, to := s.choose(); to == nil || member != silent {
		t.Fatalf("choose() = %q, %v, want the only open stream", member, to)
	}
	standing.suspect(silent)
	if member, to := s.choose(); to != nil {
		t.Errorf("choose() = the stream of %s, want none", member)
	}
	standing.suspect(resting)
	if member, to := s.choose(); to == nil || member != silent {
		t.Errorf("choose() = %q, %v, want the only open stream", member, to)
	}
}
