package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// leastRounds makes what is lost in each round more than what a runtime keeps for itself, such as the threads of a pool.
const leastRounds = 100

// reopened is the number of times per round that a client that stays open opens and closes each kind of object.
const reopened = 10

// leaks keeps all clients busy at the same time, in rounds that close what they open, while members are killed and restarted. It
// compares what the drivers hold between two rounds, early and late.
func leaks(ctx context.Context, s *suite) (err error) {
	for _, mode := range []string{"strict", "relaxed"} {
		if _, err := s.open.admin(ctx, "seq", "create", "leaks-"+mode, "--mode", mode); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	disturbed := make(chan error, 1)
	go func() { disturbed <- s.killInTurn(ctx) }()
	errs := make([]error, len(s.clients)+1)
	for i, c := range s.clients {
		group.Go(func() {
			if errs[i] = s.leaksOf(ctx, c); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", c.name, errs[i])
			}
		})
	}
	group.Wait()
	cancel()
	errs[len(s.clients)] = <-disturbed
	return errors.Join(errs...)
}

// killInTurn kills one member after the other and restarts it, until the context ends. It waits until the member serves again, however
// busy the machine is, so that no two are down.
func (s *suite) killInTurn(ctx context.Context) error {
	for i := 0; ctx.Err() == nil; i++ {
		_ = sleep(ctx, 15*time.Second)
		victim := s.open.members[i%len(s.open.members)]
		victim.kill()
		_ = sleep(ctx, 2*time.Second)
		if err := s.open.start(victim); err != nil {
			return err
		}
		for ctx.Err() == nil {
			if _, err := s.open.command(ctx, "id", "--addr", victim.api()); err == nil {
				break
			}
			_ = sleep(ctx, 100*time.Millisecond)
		}
	}
	return nil
}

// held is the memory and the handles of a driver.
type held struct {
	files, threads int
	memory         int64 // after a garbage collection; unit of the driver
}

func (d *driver) holds() (h held, err error) {
	var answer struct {
		Used int64 `json:"used,string"`
	}
	if err := d.call("memory", args{}, &answer); err != nil {
		return h, err
	}
	h.memory = answer.Used
	proc := filepath.Join("/proc", strconv.Itoa(d.cmd.Process.Pid))
	files, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		return h, err
	}
	h.files = len(files)
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		return h, err
	}
	if m := threadsLine.FindSubmatch(status); m != nil {
		h.threads, err = strconv.Atoi(string(m[1]))
	}
	return h, err
}

var threadsLine = regexp.MustCompile(`(?m)^Threads:\s+([0-9]+)$`)

// leaksOf plays rounds with one client, and compares the second fifth of them with the last.
func (s *suite) leaksOf(ctx context.Context, c client) error {
	d, err := s.start(ctx, c)
	if err != nil {
		return err
	}
	defer d.kill()
	p := &player{suite: s, driver: d, client: c, name: "leaks"}
	token, err := p.secured.token(ctx, p.unique("t"), "ids:issue:default", "worker:lease:default", "cluster:read")
	if err != nil {
		return err
	}
	if err := p.call("open", args{"client": "long", "addresses": p.open.addresses()}, nil); err != nil {
		return err
	}
	var closed []held
	var objects []int64 // memory of the objects of a round
	for began := time.Now(); len(closed) < leastRounds || time.Since(began) < s.leaks; {
		opened, err := p.round(token)
		if err != nil {
			return fmt.Errorf("round %d: %w", len(closed), err)
		}
		h, err := d.holds()
		if err != nil {
			return err
		}
		closed, objects = append(closed, h), append(objects, opened.memory-h.memory)
	}
	fifth := len(closed) / 5
	early, late := least(closed[fifth:2*fifth]), least(closed[len(closed)-fifth:])
	slices.Sort(objects)
	return judge(s, c, early, late, len(closed)-2*fifth, objects[len(objects)/2])
}

// least returns the least of each kind: what is between two rounds for other reasons comes and goes.
func least(all []held) held {
	h := all[0]
	for _, o := range all[1:] {
		h = held{min(h.files, o.files), min(h.threads, o.threads), min(h.memory, o.memory)}
	}
	return h
}

// judge compares two moments that are rounds apart. A round opens several of everything, so a leak is at least as many files or
// threads as rounds, and half of that is the bound: pools of the runtime and of the client that stays open are smaller. Of memory, the
// bound is a tenth of what the objects of a round hold, in each round. A client closes each kind of object several times in a round,
// so an object that a list, a timer or a listener keeps exceeds it.
func judge(s *suite, c client, early, late held, rounds int, objects int64) error {
	fmt.Fprintf(s.out, "      %-12s %d rounds: %d to %d files, %d to %d threads, %d to %d of memory, %d in the objects of a round\n",
		c.name, rounds, early.files, late.files, early.threads, late.threads, early.memory, late.memory, objects)
	var errs []error
	for _, grown := range []struct {
		what         string
		growth, most int64
	}{
		{"files", int64(late.files - early.files), int64(rounds) / 2},
		{"threads", int64(late.threads - early.threads), int64(rounds) / 2},
		{"memory", late.memory - early.memory, int64(rounds) * objects / 10},
	} {
		if grown.growth > grown.most {
			errs = append(errs, fmt.Errorf("%s grew by %d in %d rounds, at most %d", grown.what, grown.growth, rounds, grown.most))
		}
	}
	return errors.Join(errs...)
}

// round opens clients and objects, uses each, meets errors, and closes all. It returns what the driver held before it closed them. A
// member that is down may make any operation fail.
func (p *player) round(token string) (opened held, err error) {
	strict := args{"client": "c", "sequence": "leaks-strict", "count": 1}
	file := filepath.Join(p.dir, "leaks-"+p.client.name)
	for _, step := range []struct {
		op   string
		with args
	}{
		{"open", args{"client": "c", "addresses": p.open.addresses(), "timeout_ms": 3000}},
		{"open", args{"client": "s", "addresses": p.secured.addresses(), "token": token, "timeout_ms": 3000}},
		{"generator", args{"client": "c", "generator": "g", "lanes": 2}},
		{"generator", args{"client": "s", "generator": "sg"}},
		{"generator", args{"client": "long", "generator": "lg"}},
		{"buffer", args{"client": "c", "buffer": "b"}},
		{"buffer", args{"client": "long", "buffer": "lb"}},
		{"blocks", args{"client": "c", "blocks": "n", "sequence": "leaks-relaxed"}},
		{"blocks", args{"client": "long", "blocks": "ln", "sequence": "leaks-relaxed"}},
		{"next", args{"generator": "g", "count": 100}},
		{"next", args{"generator": "sg", "count": 100}},
		{"next", args{"generator": "lg", "count": 100}},
		{"take", args{"buffer": "b", "count": 100}},
		{"take", args{"buffer": "lb", "count": 100}},
		{"draw", args{"blocks": "n", "count": 100}},
		{"draw", args{"blocks": "ln", "count": 100}},
		{"numbers", strict},
		{"run", args{"kind": "numbers", "name": "c", "sequence": "leaks-strict", "threads": 4, "count": 200, "ms": 3000, "file": file}},
		{"run", args{"kind": "ids", "name": "long", "threads": 4, "count": 200, "ms": 3000, "file": file}},
		{"ids", args{"client": "s", "count": 10}},
		{"numbers", args{"client": "c", "sequence": "no-such-sequence", "count": 1}},
		{"numbers", args{"client": "s", "sequence": "no-right", "count": 1}},
		{"open", args{"client": "nowhere", "addresses": []string{"127.0.0.1:1"}, "timeout_ms": 100}},
		{"ids", args{"client": "nowhere", "count": 1}},
		{"generator", args{"client": "long", "generator": "no", "layout": "no-such-layout", "ready_ms": 1000}},
		{"close", args{"client": "nowhere"}},
	} {
		if err := p.tolerant(step.op, step.with); err != nil {
			return opened, err
		}
	}
	for range reopened {
		for _, kind := range []string{"generator", "buffer", "blocks"} {
			with := args{"client": "long", kind: "again", "sequence": "leaks-relaxed"}
			if err := errors.Join(p.tolerant(kind, with), p.tolerant("close", args{kind: "again"})); err != nil {
				return opened, err
			}
		}
	}
	if opened, err = p.holds(); err != nil {
		return opened, err
	}
	kinds := [][2]string{{"generator", "lg"}, {"generator", "no"}, {"buffer", "lb"}, {"blocks", "ln"}, {"client", "c"}, {"client", "s"}}
	rand.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	for _, kind := range kinds {
		if err := p.tolerant("close", args{kind[0]: kind[1]}); err != nil {
			return opened, err
		}
	}
	return opened, nil
}

// tolerant performs an operation that may be refused.
func (p *player) tolerant(op string, with args) error {
	err := p.call(op, with, nil)
	if f, ok := errors.AsType[*failure](err); ok && f.Reason != "DRIVER" && f.Reason != "UNSUPPORTED" {
		return nil
	}
	return err
}
