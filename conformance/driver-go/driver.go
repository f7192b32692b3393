package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/sequence"
	"github.com/snowraft/snowraft/snowflake"
)

// driver holds the objects that operations name.
type driver struct {
	mu         sync.Mutex
	clients    map[string]*client.Client
	generators map[string]*client.Generator
	buffers    map[string]*client.Buffer
	blocks     map[string]*client.Blocks
	owners     map[any]string // client of each object
	stops      map[int]func()
}

func newDriver() *driver {
	return &driver{
		clients: make(map[string]*client.Client), generators: make(map[string]*client.Generator),
		buffers: make(map[string]*client.Buffer), blocks: make(map[string]*client.Blocks), owners: make(map[any]string),
		stops: make(map[int]func()),
	}
}

// failure is the error of an answer.
type failure struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Retry   bool   `json:"retry"`
	Unknown bool   `json:"unknown"`
}

// partly is an error after some IDs.
type partly struct {
	error
	ids []string
}

// Unwrap returns the error.
func (p partly) Unwrap() error { return p.error }

func answerOf(id int, ok any, err error) answer {
	if err == nil {
		return answer{ID: id, OK: ok}
	}
	a := answer{ID: id, Error: failureOf(err)}
	if some, is := errors.AsType[partly](err); is {
		a.IDs = some.ids
	}
	return a
}

func failureOf(err error) *failure {
	f := &failure{Message: err.Error()}
	e, ours := errors.AsType[*client.Error](err)
	switch {
	case errors.Is(err, client.ErrClosed):
		f.Reason = "CLOSED"
	case ours:
		f.Reason, f.Retry = e.Reason, e.Repeatable()
		f.Unknown = e.Reason == "COMMIT_UNKNOWN" || e.Reason == "INTERNAL" || e.Reason == "" && !e.Unsent
		if e.Reason == "" {
			f.Reason = "UNAVAILABLE"
		}
	case errors.Is(err, context.DeadlineExceeded):
		f.Reason, f.Retry = "TIMEOUT", true
	default:
		f.Reason = "INVALID_ARGUMENT"
	}
	return f
}

var errUnsupported = errors.New("unsupported operation")

// find returns an object by name.
func find[T any](d *driver, all map[string]T, name string) (T, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	object, ok := all[name]
	if !ok {
		return object, fmt.Errorf("no object %q", name)
	}
	return object, nil
}

// keep adds an object of a client.
func keep[T any](d *driver, all map[string]T, name, owner string, object T) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.owners, any(all[name]))
	all[name] = object
	d.owners[object] = owner
}

// perform performs an operation.
func (d *driver) perform(r request) (any, error) {
	ctx, a := context.Background(), r.Args
	switch r.Op {
	case "hello":
		return map[string]any{"client": "go", "version": "", "runtime": runtime.Version(),
			"features": []string{"direct", "generator", "buffer", "strict", "relaxed", "offline", "grpc"}}, nil
	case "open":
		return struct{}{}, d.open(a)
	case "close":
		return struct{}{}, d.closeNamed(ctx, a)
	case "memory":
		return memory(), nil
	case "ids":
		return d.ids(ctx, a)
	case "generator":
		return struct{}{}, d.generator(ctx, a)
	case "ready":
		g, err := find(d, d.generators, a.Generator)
		if err != nil {
			return nil, err
		}
		return struct{}{}, ready(ctx, g, a.ReadyMs)
	case "next":
		return d.next(ctx, a)
	case "status":
		return d.status(a)
	case "buffer":
		return struct{}{}, d.buffer(a)
	case "take":
		return d.take(ctx, a)
	case "create":
		return struct{}{}, d.create(ctx, a)
	case "sequence", "update", "delete", "list", "last", "set_next", "decode_text":
		return d.manage(ctx, r.Op, a)
	case "create_layout", "layout":
		return d.layout(ctx, r.Op, a)
	case "reserve", "confirm", "void", "reconcile":
		return d.document(ctx, r.Op, a)
	case "numbers":
		return d.numbers(ctx, a)
	case "blocks":
		return struct{}{}, d.newBlocks(a)
	case "draw":
		return d.draw(ctx, a)
	case "run":
		return d.run(r.ID, a)
	case "stop":
		d.stop(a.Run)
		return struct{}{}, nil
	case "decode":
		return decode(a)
	case "encode":
		return encode(a)
	}
	return nil, fmt.Errorf("%w %q", errUnsupported, r.Op)
}

// open makes a client. The contract names HTTP addresses; the port for gRPC is one below.
func (d *driver) open(a params) error {
	var addresses []string
	for _, address := range a.Addresses {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(port)
		if err != nil {
			return err
		}
		addresses = append(addresses, net.JoinHostPort(host, strconv.Itoa(n-1)))
	}
	var options []client.Option
	if a.Token != "" {
		options = append(options, client.WithToken(a.Token))
	}
	if a.CA != "" {
		ca, err := os.ReadFile(a.CA)
		if err != nil {
			return err
		}
		options = append(options, client.WithCA(ca))
	}
	if a.TimeoutMs > 0 {
		options = append(options, client.WithTimeout(time.Duration(a.TimeoutMs)*time.Millisecond))
	}
	c, err := client.New(addresses, options...)
	if err == nil {
		keep(d, d.clients, a.Client, a.Client, c)
	}
	return err
}

// closeNamed closes an object, or a client with all its objects.
func (d *driver) closeNamed(ctx context.Context, a params) error {
	switch {
	case a.Generator != "":
		g, err := find(d, d.generators, a.Generator)
		if err != nil {
			return err
		}
		return g.Close(ctx)
	case a.Buffer != "":
		b, err := find(d, d.buffers, a.Buffer)
		if err != nil {
			return err
		}
		return b.Close()
	case a.Blocks != "":
		b, err := find(d, d.blocks, a.Blocks)
		if err != nil {
			return err
		}
		return b.Close(ctx)
	}
	return d.closeClient(a.Client)
}

// memory returns the bytes of objects and stacks that are in use after a garbage collection.
func memory() any {
	runtime.GC()
	runtime.GC() // the first one leaves what pools hold
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return map[string]any{"used": strconv.FormatUint(m.HeapAlloc+m.StackInuse, 10)}
}

// closeClient closes a client and its objects.
func (d *driver) closeClient(name string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	d.mu.Lock()
	owned := func(object any) bool { return d.owners[object] == name }
	var closers []func() error
	for _, g := range d.generators {
		if owned(g) {
			closers = append(closers, func() error { return g.Close(ctx) })
		}
	}
	for _, b := range d.buffers {
		if owned(b) {
			closers = append(closers, b.Close)
		}
	}
	for _, b := range d.blocks {
		if owned(b) {
			closers = append(closers, func() error { return b.Close(ctx) })
		}
	}
	if c := d.clients[name]; c != nil {
		closers = append(closers, c.Close)
	}
	d.mu.Unlock()
	for _, c := range closers {
		err = errors.Join(err, c())
	}
	return err
}

// close ends all runs and closes all clients.
func (d *driver) close() {
	d.mu.Lock()
	names := make([]string, 0, len(d.clients))
	for name := range d.clients {
		names = append(names, name)
	}
	for _, stop := range d.stops {
		stop()
	}
	d.mu.Unlock()
	for _, name := range names {
		if err := d.closeClient(name); err != nil {
			fmt.Fprintln(os.Stderr, "driver-go:", err)
		}
	}
}

type idList struct {
	IDs []string `json:"ids"`
}

func texts(all []int64) []string {
	list := make([]string, 0, len(all))
	for _, n := range all {
		list = append(list, strconv.FormatInt(n, 10))
	}
	return list
}

func layoutOf(a params) string {
	if a.Layout == "" {
		return snowflake.Default().Name()
	}
	return a.Layout
}

func (d *driver) ids(ctx context.Context, a params) (any, error) {
	c, err := find(d, d.clients, a.Client)
	if err != nil {
		return nil, err
	}
	if a.After > 0 {
		all, err := c.IDs(layoutOf(a)).Session(a.After).Append(ctx, nil, a.Count)
		return idList{texts(all)}, err
	}
	all, err := c.IDs(layoutOf(a)).Append(ctx, nil, a.Count)
	return idList{texts(all)}, err
}

func ready(ctx context.Context, g *client.Generator, ms int64) error {
	if ms == 0 {
		ms = 10_000
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
	defer cancel()
	return g.WaitReady(ctx)
}

func (d *driver) generator(ctx context.Context, a params) error {
	c, err := find(d, d.clients, a.Client)
	if err != nil {
		return err
	}
	g, err := client.NewGenerator(c, client.WithGeneratorLayout(layoutOf(a)), client.WithGeneratorLanes(max(1, a.Lanes)))
	if err != nil {
		return err
	}
	keep(d, d.generators, a.Generator, a.Client, g)
	return ready(ctx, g, a.ReadyMs)
}

func (d *driver) next(ctx context.Context, a params) (any, error) {
	g, err := find(d, d.generators, a.Generator)
	if err != nil {
		return nil, err
	}
	var all []int64
	for range a.Count {
		id, err := g.NextAfter(ctx, a.After)
		if err != nil {
			return nil, partly{err, texts(all)}
		}
		all = append(all, id)
	}
	return idList{texts(all)}, nil
}

type workerState struct {
	Worker    string `json:"worker"`
	FromTick  string `json:"from_tick"`
	UntilTick string `json:"until_tick"`
}

func (d *driver) status(a params) (any, error) {
	g, err := find(d, d.generators, a.Generator)
	if err != nil {
		return nil, err
	}
	state, reason := "issuing", ""
	if err := g.Ready(); err != nil {
		state, reason = "refusing", failureOf(err).Reason
	}
	workers := []workerState{}
	for _, l := range g.Lanes() {
		if l.Token != 0 {
			workers = append(workers, workerState{strconv.FormatUint(l.Worker, 10), strconv.FormatInt(l.FromTick, 10), strconv.FormatInt(l.UntilTick, 10)})
		}
	}
	return map[string]any{"state": state, "reason": reason, "workers": workers}, nil
}

func (d *driver) buffer(a params) error {
	c, err := find(d, d.clients, a.Client)
	if err != nil {
		return err
	}
	var options []client.BufferOption
	if a.Size > 0 {
		options = append(options, client.WithBufferSize(a.Size, a.Size))
	}
	b, err := client.NewBuffer(c.IDs(layoutOf(a)), options...)
	if err == nil {
		keep(d, d.buffers, a.Buffer, a.Client, b)
	}
	return err
}

func (d *driver) take(ctx context.Context, a params) (any, error) {
	b, err := find(d, d.buffers, a.Buffer)
	if err != nil {
		return nil, err
	}
	var all []int64
	for range a.Count {
		id, err := b.Next(ctx)
		if err != nil {
			return nil, partly{err, texts(all)}
		}
		all = append(all, id)
	}
	return idList{texts(all)}, nil
}

var resets = map[string]sequence.Reset{
	"": sequence.ResetNone, "none": sequence.ResetNone, "daily": sequence.ResetDaily, "weekly": sequence.ResetWeekly,
	"monthly": sequence.ResetMonthly, "quarterly": sequence.ResetQuarterly, "yearly": sequence.ResetYearly,
}

func (d *driver) create(ctx context.Context, a params) error {
	c, err := find(d, d.clients, a.Client)
	if err != nil {
		return err
	}
	starts, err := sequence.ParseYearStart(a.YearStarts)
	if err != nil {
		return err
	}
	spec := client.SequenceSpec{Name: a.Sequence, Start: a.Start, Increment: a.Step, Format: a.Format, Reset: resets[a.Reset], YearStarts: starts, TimeZone: a.Zone, Late: time.Duration(a.LateMs) * time.Millisecond}
	spec.Mode = map[string]client.SequenceMode{"": client.ModeStrict, "strict": client.ModeStrict, "relaxed": client.ModeRelaxed, "gapless": client.ModeGapless}[a.Mode]
	_, err = c.CreateSequence(ctx, spec)
	return err
}
