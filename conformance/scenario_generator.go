package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

// state is the answer of the operation status.
type state struct {
	State   string `json:"state"`
	Reason  string `json:"reason"`
	Workers []struct {
		Worker    string `json:"worker"`
		FromTick  string `json:"from_tick"`
		UntilTick string `json:"until_tick"`
		LastTick  string `json:"last_tick"` // empty if the client does not report it
	} `json:"workers"`
}

// generator opens a generator and waits for its first window.
func (p *player) generator(name string, with args) error {
	all := args{"client": "c", "generator": name}
	maps.Copy(all, with)
	return p.call("generator", all, nil)
}

func generatorIssues(_ context.Context, p *player) error {
	if err := p.connect(); err != nil {
		return err
	}
	if err := p.generator("g", nil); err != nil {
		return err
	}
	all, err := p.take("next", args{"generator": "g"}, 20_000)
	if err != nil {
		return err
	}
	if err := ascending(all); err != nil {
		return err
	}
	for _, id := range []uint64{all[0], all[len(all)-1]} {
		if off := time.Since(snowflake.Default().TimeOf(id)).Abs(); off > time.Minute {
			return fmt.Errorf("ID %d is %v off the clock", id, off)
		}
	}
	var s state
	if err := p.call("status", args{"generator": "g"}, &s); err != nil {
		return err
	}
	if s.State != "issuing" || len(s.Workers) != 1 {
		return fmt.Errorf("status %+v, want issuing with a worker", s)
	}
	if err := p.generator("lanes", args{"lanes": 3}); err != nil {
		return err
	}
	j, err := p.run(p.driver, args{"kind": "generator", "name": "lanes", "threads": 4, "count": 200_000})
	if err != nil {
		return err
	}
	more, _, err := j.issued()
	if err != nil {
		return err
	}
	if len(more) < 200_000 {
		return fmt.Errorf("%d IDs, want 200000", len(more))
	}
	return errors.Join(distinct(all, more), p.floors(all[len(all)-1], "lanes", "g"))
}

// floors takes an ID of each generator in turn, greater than the one before, and then floors that no process can have issued.
func (p *player) floors(floor uint64, generators ...string) error {
	for range 20 {
		for _, name := range generators {
			next, err := p.take("next", args{"generator": name, "after": strconv.FormatUint(floor, 10)}, 1)
			if err != nil {
				return err
			}
			if next[0] <= floor {
				return fmt.Errorf("ID %d of %s after %d", next[0], name, floor)
			}
			floor = next[0]
		}
	}
	for _, after := range []uint64{math.MaxInt64, floor + 1<<40} {
		with := args{"generator": generators[0], "count": 1, "after": strconv.FormatUint(after, 10)}
		if _, err := p.refused("next", with, "INVALID_ARGUMENT"); err != nil {
			return err
		}
	}
	return nil
}

// killed kills a member, and restarts it, while a client requests IDs and a generator issues them.
func killed(ctx context.Context, p *player) error {
	if err := p.connect(); err != nil {
		return err
	}
	if err := p.generator("g", nil); err != nil {
		return err
	}
	var jobs []*job
	for _, with := range []args{
		{"kind": "ids", "name": "c", "threads": 4, "ms": 6000},
		{"kind": "generator", "name": "g", "threads": 1, "ms": 6000, "count": 1_000_000},
	} {
		j, err := p.run(p.driver, with)
		if err != nil {
			return err
		}
		jobs = append(jobs, j)
	}
	victim := p.open.members[0]
	if err := sleep(ctx, time.Second); err != nil {
		return err
	}
	victim.kill()
	if err := sleep(ctx, 2*time.Second); err != nil {
		return err
	}
	if err := p.open.start(victim); err != nil {
		return err
	}
	var lists [][]uint64
	for _, j := range jobs {
		list, result, err := j.issued()
		if err != nil {
			return err
		}
		if len(list) < 100 {
			return fmt.Errorf("%d issued: %+v", len(list), result)
		}
		lists = append(lists, list)
	}
	if err := p.open.ready(ctx); err != nil {
		return err
	}
	if err := distinct(lists...); err != nil {
		return err
	}
	_, err := p.take("ids", args{"client": "c"}, 10)
	return err
}

// learned gives a client one address, whose member dies. The client has learned the others.
func learned(ctx context.Context, p *player) (err error) {
	victim := p.open.members[1]
	if err := p.call("open", args{"client": "c", "addresses": []string{victim.http()}}, nil); err != nil {
		return err
	}
	if _, err := p.take("ids", args{"client": "c"}, 10); err != nil {
		return err
	}
	if err := sleep(ctx, time.Second); err != nil { // the list of members may come after the first answer
		return err
	}
	victim.kill()
	defer func() { err = errors.Join(err, p.open.start(victim), p.open.ready(ctx)) }()
	for range 20 {
		if _, err := p.take("ids", args{"client": "c"}, 10); err != nil {
			return fmt.Errorf("after the death of the only member that the client was given: %w", err)
		}
	}
	return nil
}

// stopped stops all members. The generator continues from its window, ends with it, and resumes with the members.
func stopped(ctx context.Context, p *player) (err error) {
	if err := p.call("open", args{"client": "c", "addresses": p.open.addresses(), "timeout_ms": 1000}, nil); err != nil {
		return err
	}
	if err := p.generator("g", nil); err != nil {
		return err
	}
	if err := p.open.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	running := false
	resume := func() error {
		if running {
			return nil
		}
		running = true
		return p.open.signal(syscall.SIGCONT)
	}
	defer func() { err = errors.Join(err, resume(), p.open.ready(ctx)) }()
	layout, began := snowflake.Default(), time.Now()
	if _, err := p.take("next", args{"generator": "g"}, 100); err != nil {
		return fmt.Errorf("just after the members stopped: %w", err)
	}
	issued, err := p.drain(ctx)
	if err != nil {
		return err
	}
	last := issued[len(issued)-1]
	var s state
	if err := p.call("status", args{"generator": "g"}, &s); err != nil {
		return err
	}
	if s.State != "refusing" || len(s.Workers) != 1 {
		return fmt.Errorf("status after the window's end: %+v", s)
	}
	parts, err := layout.Unpack(last)
	if err != nil {
		return err
	}
	if until := s.Workers[0].UntilTick; fmt.Sprint(parts.Tick) >= until && len(fmt.Sprint(parts.Tick)) == len(until) {
		return fmt.Errorf("the last ID is at tick %d, and the window ended at %s", parts.Tick, until)
	}
	if tick := s.Workers[0].LastTick; tick != "" && tick != fmt.Sprint(parts.Tick) {
		return fmt.Errorf("the last ID is at tick %d, and the status has %s", parts.Tick, tick)
	}
	if at := layout.TimeOf(last); at.Before(began.Add(300 * time.Millisecond)) {
		return fmt.Errorf("the generator ended %v after the members, with a window of seconds", at.Sub(began))
	}
	if err := resume(); err != nil {
		return err
	}
	if err := p.call("ready", args{"generator": "g", "ready_ms": 30_000}, nil); err != nil {
		return fmt.Errorf("after the members resumed: %w", err)
	}
	_, err = p.take("next", args{"generator": "g"}, 10)
	return err
}

// drain takes an ID every few milliseconds until the generator has none, because its window has ended. It returns the IDs.
func (p *player) drain(ctx context.Context) (all []uint64, err error) {
	for began := time.Now(); time.Since(began) < 40*time.Second; {
		var got ids
		err := p.call("next", args{"generator": "g", "count": 1}, &got)
		f, refused := errors.AsType[*failure](err)
		switch {
		case err == nil:
			some, err := numbers(got.IDs, 1)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		case !refused:
			return nil, err
		case !slices.Contains([]string{"WINDOW_ENDED", "TIMEOUT", "UNAVAILABLE", "NO_LEADER"}, f.Reason):
			return nil, fmt.Errorf("after the window: %w, want WINDOW_ENDED", f)
		case len(all) == 0:
			return nil, fmt.Errorf("the generator issued nothing: %w", f)
		default:
			return all, nil
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("issues for 40 s, with a window of seconds")
}

// closing closes a client while its generator is in use. The cluster hears of it.
func closing(ctx context.Context, p *player) error {
	layout := p.unique("l")
	if _, err := p.open.admin(ctx, "layout", "create", layout, "--fields", "time:41,worker:8,sequence:12"); err != nil {
		return err
	}
	if err := p.connect(); err != nil {
		return err
	}
	if err := p.generator("g", args{"layout": layout, "lanes": 2}); err != nil {
		return err
	}
	j, err := p.run(p.driver, args{"kind": "generator", "name": "g", "threads": 4, "ms": 5000, "count": 100_000_000})
	if err != nil {
		return err
	}
	if err := sleep(ctx, 500*time.Millisecond); err != nil {
		return err
	}
	if err := p.call("close", args{"client": "c"}, nil); err != nil {
		return err
	}
	list, _, err := j.issued()
	if err != nil {
		return err
	}
	if err := distinct(list); err != nil {
		return err
	}
	return eventually(ctx, func() error {
		var answer struct {
			Workers []struct{ Holder, State string }
		}
		out, err := p.open.admin(ctx, "worker", "list", "--layout", layout, "-o", "json")
		if err == nil {
			err = json.Unmarshal([]byte(out), &answer)
		}
		if err != nil {
			return err
		}
		released := 0
		for _, w := range answer.Workers {
			if w.State == "released" {
				released++
			} else if w.Holder[0] != '$' {
				return fmt.Errorf("worker of %s is %s after the client closed", w.Holder, w.State)
			}
		}
		if released < 2 {
			return fmt.Errorf("%d workers released, want 2", released)
		}
		return nil
	})
}

// sleep waits for a time, within which the suite wants a fault to last.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
