//go:build linux

package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/workload"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// scriptWithin is the maximum duration of a script.
	scriptWithin = 150 * time.Second
	// reachWithin bounds the wait for a condition whose time proves nothing.
	reachWithin = time.Minute
	// pollEvery is the interval between two checks of a condition.
	pollEvery = 10 * time.Millisecond
	// statusWithin is the timeout of one call of a script to a member.
	statusWithin = time.Second
)

// stage is the environment of a script: its cluster, clients and faults.
type stage struct {
	*workload.World
	finding

	ctx    context.Context // context of play; a script runs within one call of play
	client *workload.Caller
	faults nemesis.World
	undo   []func(ctx context.Context) error
	events int
	turn   int
	lapse  time.Duration // time from a backup to the end of its cluster

	mu    sync.Mutex
	conns map[*lab.Member]*grpc.ClientConn
}

// play runs a script and undoes its changes. An error is a failure of the harness.
func (s *stage) play(ctx context.Context, w *workload.World, script func(*stage) error) (err error) {
	s.World, s.faults, s.conns = w, nemesis.World{Lab: w.Lab}, make(map[*lab.Member]*grpc.ClientConn)
	if s.client, err = w.Caller("scenario"); err != nil {
		return err
	}
	defer s.close()
	bounded, cancel := context.WithTimeout(ctx, scriptWithin)
	defer cancel()
	s.ctx = bounded
	err = script(s)
	if e, ok := errors.AsType[unreachedError](err); ok {
		s.vain("%v", e)
		err = nil
	}
	s.ctx = ctx
	if err = errors.Join(err, s.heal()); err != nil {
		return err
	}
	for _, m := range w.Lab.Founders() {
		if err := m.Start(ctx); err != nil {
			return err
		}
	}
	if err := s.faults.UntilWell(ctx, w.Lab.Founders()...); err != nil {
		s.vain("after the script: %v", err)
		return nil
	}
	if err := s.observed(); err != nil {
		s.vain("after the script: %v", err)
	}
	return nil
}

// lagging is the maximum time by which the observed clock may be behind after a script, in milliseconds. A leader raises
// it once per second, after a comparison of its clock with the clocks of others.
const lagging = 2000

// observed waits until all founders report a recent observed clock.
func (s *stage) observed() error {
	return s.until("a recent observed clock", func(ctx context.Context) bool {
		for _, m := range s.Lab.Founders() {
			got, err := s.status(ctx, m)
			if err != nil || history.Wall()/int64(time.Millisecond)-got.GetObservedClockAtMs() > lagging {
				return false
			}
		}
		return true
	})
}

func (s *stage) close() {
	s.client.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		_ = conn.Close() // no call is in progress
	}
}

// conn returns an administrator's connection to a member's API, which later calls share.
func (s *stage) conn(m *lab.Member) (*grpc.ClientConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if conn := s.conns[m]; conn != nil {
		return conn, nil
	}
	conn, err := s.Lab.ConnectAdmin(m)
	if err == nil {
		s.conns[m] = conn
	}
	return conn, err
}

// status requests the current status of a member.
func (s *stage) status(ctx context.Context, m *lab.Member) (*snowraftv1.GetStatusResponse, error) {
	conn, err := s.conn(m)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	return snowraftv1.NewClusterServiceClient(conn).GetStatus(ctx, &snowraftv1.GetStatusRequest{})
}

// until waits until met returns true. It returns an unreachedError after reachWithin.
func (s *stage) until(what string, met func(ctx context.Context) bool) error {
	ctx, cancel := context.WithTimeout(s.ctx, reachWithin)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !met(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return unreached("not reached within %v: %s", reachWithin, what)
		}
	}
	return nil
}

// well waits until all founders are healthy.
func (s *stage) well() error {
	if err := s.faults.UntilWell(s.ctx, s.Lab.Founders()...); err != nil {
		return unreachedError(err.Error())
	}
	return nil
}

// begin records the beginning of a fault. end records its end.
func (s *stage) begin(name, family string, offset time.Duration, detail string, hosts ...*lab.Member) (end func()) {
	line := history.Fault{Event: s.events, Name: name, Family: family, At: history.Now(), OffsetNanos: int64(offset), Detail: detail}
	for _, m := range hosts {
		line.Hosts = append(line.Hosts, m.Name)
	}
	s.events++
	s.Journal.Add(history.Line{Fault: &line})
	return sync.OnceFunc(func() {
		ended := line
		ended.At, ended.Ended = history.Now(), true
		s.Journal.Add(history.Line{Fault: &ended})
	})
}

// later runs do once: when now is called, or else when the script ends.
func (s *stage) later(do func(ctx context.Context) error) (now func() error) {
	var once sync.Once
	s.undo = append(s.undo, func(ctx context.Context) (err error) {
		once.Do(func() { err = do(ctx) })
		return err
	})
	return func() (err error) {
		once.Do(func() { err = do(s.ctx) })
		return err
	}
}

// heal undoes the remaining changes, the last one first.
func (s *stage) heal() error {
	var errs []error
	for _, undo := range slices.Backward(s.undo) {
		errs = append(errs, undo(context.WithoutCancel(s.ctx)))
	}
	return errors.Join(errs...)
}

// load starts one client per given member, which queries the member continuously until the script ends or stop is
// called. stop waits for the clients.
func (s *stage) load(layout, key string, most uint32, members ...*lab.Member) (stop func() error) {
	ctx, cancel := context.WithCancel(s.ctx)
	var clients sync.WaitGroup
	for _, m := range members {
		clients.Go(func() { s.client.Load(ctx, m, layout, key, most) })
	}
	return s.later(func(context.Context) error {
		cancel()
		clients.Wait()
		return nil
	})
}

// others returns the founders except for one.
func (s *stage) others(without *lab.Member) []*lab.Member {
	return slices.DeleteFunc(slices.Clone(s.Lab.Founders()), func(m *lab.Member) bool { return m == without })
}

// orders is the name of the strict sequence of scripts.
const orders = "orders"

// block is the number of numbers of that sequence that scripts let its leader keep.
const block = 100

// strict creates the strict sequence. Its leader keeps block numbers in memory.
func (s *stage) strict(block uint64) error {
	return s.Create(s.ctx, &snowraftv1.Sequence{
		Name: orders, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, MinBlock: block, MaxBlock: block,
	})
}

// highest returns the highest number of an answer. Requires an ascending sequence.
func highest(op history.Op) int64 { return op.First + int64(op.Count-1)*op.Increment }

// describe describes the result of an operation.
func describe(op history.Op) string {
	if op.Outcome == history.OK {
		return fmt.Sprintf("%d (count %d)", op.First, op.Count)
	}
	return fmt.Sprintf("%s %s", op.Reason, op.Error)
}
