package redis_test

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/redis"
)

// fake is a Backend in memory.
type fake struct {
	sequences sync.Map // string -> *sequence
	ids       atomic.Uint64
	info      redis.Info
	off       bool // creates no sequences
	// before, if set, runs before each call. If it returns an error, the call fails with that error.
	before func(ctx context.Context, call, sequence string) error

	nexts   atomic.Int64
	creates atomic.Int64
}

// sequence holds the numbers from next. If left is not negative, it is the number of remaining numbers.
type sequence struct {
	next      atomic.Int64
	increment int64
	left      atomic.Int64
	strict    bool
	used      atomic.Bool
}

func (f *fake) ask(ctx context.Context, call, name string) error {
	if f.before == nil {
		return nil
	}
	return f.before(ctx, call, name)
}

func (f *fake) find(name string) (*sequence, error) {
	v, ok := f.sequences.Load(name)
	if !ok {
		return nil, &rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownSequence, Message: "there is no sequence " + name}
	}
	return v.(*sequence), nil
}

func (f *fake) Next(ctx context.Context, name string, count uint64) (redis.Numbers, error) {
	f.nexts.Add(1)
	if err := f.ask(ctx, "next", name); err != nil {
		return redis.Numbers{}, err
	}
	if count < 1 || count > 1_000_000 {
		return redis.Numbers{}, &rpc.Error{Code: codes.InvalidArgument, Reason: rpc.InvalidArgument, Message: "the count is out of range"}
	}
	s, err := f.find(name)
	if err != nil {
		return redis.Numbers{}, err
	}
	if left := s.left.Load(); left >= 0 && (left < int64(count) || !s.left.CompareAndSwap(left, left-int64(count))) {
		return redis.Numbers{}, &rpc.Error{Code: codes.FailedPrecondition, Reason: rpc.SequenceExhausted, Message: "sequence " + name + " is exhausted"}
	}
	if !s.used.Load() {
		s.used.Store(true)
	}
	step := int64(count) * s.increment
	return redis.Numbers{First: s.next.Add(step) - step, Increment: s.increment, Strict: s.strict}, nil
}

// Number gives the numbers of "dated" a period and a text. Other periods begin at the number that the caller states.
func (f *fake) Number(ctx context.Context, name string, count uint64, of redis.Period) (redis.Numbering, error) {
	if of.From != nil {
		return fakeNumbering(redis.Numbers{First: *of.From, Increment: 1}, of.Name, "L-"), nil
	}
	numbers, err := f.Next(ctx, name, count)
	if name == "dated" {
		return fakeNumbering(numbers, cmp.Or(of.Name, "2026-11-28"), "D-"), err
	}
	return fakeNumbering(numbers, "", ""), err
}

func fakeNumbering(numbers redis.Numbers, period, prefix string) redis.Numbering {
	n := redis.Numbering{Numbers: numbers, Period: period}
	n.Append = func(dst []byte, index uint64) []byte {
		return strconv.AppendInt(append(dst, prefix...), numbers.First+int64(index)*numbers.Increment, 10)
	}
	return n
}

func (f *fake) Last(ctx context.Context, name string) (int64, bool, error) {
	if err := f.ask(ctx, "last", name); err != nil {
		return 0, false, err
	}
	s, err := f.find(name)
	if err != nil || !s.used.Load() {
		return 0, false, err
	}
	return s.next.Load() - s.increment, true, nil
}

func (f *fake) Exists(ctx context.Context, name string) (bool, error) {
	if err := f.ask(ctx, "exists", name); err != nil {
		return false, err
	}
	_, ok := f.sequences.Load(name)
	return ok, nil
}

func (f *fake) Create(ctx context.Context, name string) (bool, error) {
	f.creates.Add(1)
	if err := f.ask(ctx, "create", name); err != nil {
		return false, err
	}
	if f.off {
		return false, nil
	}
	f.add(name, 1, 1, -1, true)
	return true, nil
}

// add adds a sequence. It has no end if left is -1.
func (f *fake) add(name string, start, increment, left int64, strict bool) {
	s := &sequence{increment: increment, strict: strict}
	s.next.Store(start)
	s.left.Store(left)
	f.sequences.LoadOrStore(name, s)
}

func (f *fake) Ids(ctx context.Context, dst []uint64, layout string, count uint32) ([]uint64, error) {
	if err := f.ask(ctx, "ids", layout); err != nil {
		return dst, err
	}
	if layout != "" && layout != "default" {
		return dst, &rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownLayout, Message: "there is no layout " + layout}
	}
	last := f.ids.Add(uint64(count))
	for i := range uint64(count) {
		dst = append(dst, last-uint64(count)+1+i)
	}
	return dst, nil
}

func (f *fake) Info() redis.Info {
	i := f.info
	if i.Member == "" {
		i = redis.Info{
			Member: "m1", MemberID: "9b2d", ClusterID: "c0ffee", Version: "v1.2.3", Role: "leader", Leader: "m1", Uptime: 90 * time.Second,
		}
	}
	return i
}

// at returns a clock that stands still.
func at(millis int64) clock.Source {
	return func() clock.Reading { return clock.Reading{Wall: millis} }
}

// hidden hides the file descriptors of its connections, as TLS does.
type hidden struct{ net.Listener }

func (h hidden) Accept() (net.Conn, error) {
	nc, err := h.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return hiddenConn{nc.(*net.TCPConn)}, nil
}

type hiddenConn struct{ tcp }

type tcp interface {
	net.Conn
	CloseWrite() error
}

// newServer returns a server that logs nothing and counts nothing, unless its configuration says so.
func newServer(cfg redis.Config) *redis.Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Meter == nil {
		cfg.Meter = func(string) redis.Meter { return noMeter{} }
	}
	cfg.MaxClients = cmp.Or(cfg.MaxClients, 10_000)
	return redis.New(cfg)
}

type noMeter struct{}

func (noMeter) Answered(uint64, uint64, time.Duration) {}
func (noMeter) Failed(error)                           {}
