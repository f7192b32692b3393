// Package diagnose collects the files of a member for a debug archive: its state, and profiles of its process.
//
// An archive holds no secret, and no names of sequences, holders and tokens. Each file consists of items that this package
// lists as safe: fields of messages, labels of metrics, settings, keys of Raft. Other items are omitted. Clocks and files have no names. Profiles hold functions and counts,
// and no values of variables.
//
// The package costs nothing until an archive is requested. The main type is [Collector].
package diagnose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
)

const (
	// maxFile bounds the bytes of a file. The rest of a longer file is omitted.
	maxFile = 16 << 20
	// maxWait bounds the time to make a file, except the CPU profile: a disk may never answer.
	maxWait = 5 * time.Second
	// problemsFile lists the files that an archive lacks or has only in part.
	problemsFile = "problems.txt"
)

// Source holds the parts of a member that an archive is made from.
type Source struct {
	Member   *member.Member
	Metrics  prometheus.Gatherer
	Settings map[string]any // only settings that are safe to show
	Name     string         // name of the member
	Version  string         // version of the program
	DataDir  string
}

// Collector makes one archive at a time. Its methods are safe for concurrent use.
type Collector struct {
	Source
	busy sync.Mutex

	mu    sync.Mutex
	stuck map[string]bool // files that are being made, even if no call waits for them any longer
}

// New returns the collector of a member.
func New(s Source) *Collector { return &Collector{Source: s, stuck: make(map[string]bool)} }

// Request is the request for an archive.
type Request struct {
	Duration        time.Duration // duration of the CPU profile
	Status, Members proto.Message // status of the member, and the members that it knows; not redacted yet
}

// Collect calls put with each file, one after the other. It profiles the processor for req.Duration. A file that could not
// be made is omitted or incomplete, and a last file lists the problems; they are not errors. Collect returns the error of
// put or of ctx, or an error with the reason OVERLOADED if another Collect is running.
func (c *Collector) Collect(ctx context.Context, req Request, put func(name string, content []byte) error) error {
	if !c.busy.TryLock() {
		return rpc.NewError(rpc.Overloaded, "this member is collecting another debug archive; wait until that is complete")
	}
	defer c.busy.Unlock()
	a := &archive{Collector: c, ctx: ctx, put: put, redact: NewRedactor(c.known()...)}
	a.file("about.json", document(c.about()))
	a.file("status.json", message(a.redact.Message(req.Status)))
	a.file("members.json", message(a.redact.Message(req.Members)))
	a.file("settings.json", document(c.Settings))
	a.file("clock.json", document(c.Member.Clock().Bases()))
	a.file("raft.json", c.raft)
	a.file("disk.json", c.disk)
	metrics := func(b *buffer) error { return writeMetrics(b, c.Metrics) }
	a.file("metrics-1.txt", metrics)
	a.file("goroutines.txt", goroutines)
	a.file("heap.pprof", heap)
	a.cpu("cpu.pprof", req.Duration)
	a.file("metrics-2.txt", metrics)
	if len(a.problems) > 0 {
		a.file(problemsFile, func(b *buffer) error {
			_, err := b.Write([]byte(strings.Join(a.problems, "\n") + "\n"))
			return err
		})
	}
	return a.err
}

// known returns the names that an archive always shows: the names of members and layouts, and the IDs of members.
func (c *Collector) known() []string {
	names := []string{c.Name}
	for _, m := range c.Member.Node().Members() {
		names = append(names, m.Name, m.ID)
	}
	c.Member.State().View(func(s *fsm.State) {
		for _, l := range s.Layouts() {
			names = append(names, l.Layout.Name())
		}
	})
	return names
}

// archive is an archive in progress.
type archive struct {
	*Collector
	ctx      context.Context
	put      func(string, []byte) error
	redact   *Redactor
	problems []string
	err      error // first error of put or ctx
}

// file makes a file and passes it to put. If making fails, put gets the part that was made. A file that takes longer than
// maxWait is omitted.
func (a *archive) file(name string, write func(*buffer) error) {
	if a.err != nil {
		return
	}
	if !a.begin(name) {
		a.problem(name, errors.New("an earlier attempt has not ended yet"))
		return
	}
	var b buffer
	made := make(chan error, 1)
	go func() {
		defer a.end(name)
		made <- guard(write, &b)
	}()
	late := time.NewTimer(maxWait)
	defer late.Stop()
	select {
	case err := <-made:
		if err != nil {
			a.problem(name, err)
		}
		a.err = a.put(name, b.Bytes())
	case <-late.C:
		a.problem(name, fmt.Errorf("not complete after %v", maxWait))
	case <-a.ctx.Done():
		a.err = a.ctx.Err()
	}
}

// guard calls write and returns a panic as an error, because an archive must not stop the member.
func guard(write func(*buffer) error, b *buffer) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("panic")
		}
	}()
	return write(b)
}

func (a *archive) problem(name string, err error) {
	a.problems = append(a.problems, name+": "+strings.ReplaceAll(a.redact.Text(err.Error()), "\n", " "))
	slices.Sort(a.problems)
}

func (c *Collector) begin(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stuck[name] {
		return false
	}
	c.stuck[name] = true
	return true
}

func (c *Collector) end(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.stuck, name)
}

// buffer is the content of a file, at most maxFile bytes.
type buffer struct{ bytes.Buffer }

var errTooLong = fmt.Errorf("cut off after %d MiB", maxFile>>20)

func (b *buffer) Write(p []byte) (int, error) {
	if room := maxFile - b.Len(); len(p) > room {
		_, _ = b.Buffer.Write(p[:room])
		return room, errTooLong
	}
	return b.Buffer.Write(p)
}
