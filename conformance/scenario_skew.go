package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/snowraft/snowraft/jepsen/skew"
	"github.com/snowraft/snowraft/snowflake"
)

// skewed moves the wall clock of a driver's process while a generator issues: jumps back and forward, and a clock that creeps. The clock of
// the machine, and so that of the members, stays right.
func skewed(ctx context.Context, p *player) (err error) {
	var clock *skew.Family
	d, err := p.launch(ctx, p.client, func(cmd *exec.Cmd) (func() error, error) {
		clock, err = skew.StartFamily(cmd, 0)
		return func() error {
			if how := clock.Wait(); how != "exit status 0" {
				return errors.New(how)
			}
			return nil
		}, err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.quit()) }()
	p = &player{suite: p.suite, driver: d, client: p.client, name: p.name}
	if err := p.call("open", args{"client": "c", "addresses": p.open.addresses(), "timeout_ms": 1500}, nil); err != nil {
		return err
	}
	if err := p.generator("g", nil); err != nil {
		return err
	}
	issued := p.issue("g")
	if err := issued.continues(ctx); err != nil {
		return err
	}
	for _, jump := range []struct {
		offset time.Duration
		reason string // empty: the generator waits, or continues
	}{
		{-3 * time.Second, "CLOCK_BEHIND"}, {-300 * time.Millisecond, ""}, {3 * time.Second, "CLOCK_SKEW"},
		{time.Hour, "CLOCK_SKEW"}, {-time.Hour, "CLOCK_BEHIND"},
	} {
		issued.reset()
		if err := clock.Set(jump.offset); err != nil {
			return err
		}
		if jump.reason != "" {
			err = issued.refuses(ctx, jump.reason)
		} else {
			err = issued.continues(ctx)
		}
		if err != nil {
			return fmt.Errorf("clock off by %v: %w", jump.offset, err)
		}
		if err := clock.Set(0); err != nil {
			return err
		}
		if err := issued.continues(ctx); err != nil {
			return fmt.Errorf("after the clock was off by %v: %w", jump.offset, err)
		}
	}
	if err := creep(ctx, clock, issued); err != nil {
		return err
	}
	all, err := issued.stop()
	if err != nil {
		return err
	}
	for _, id := range all {
		if ahead := -time.Since(snowflake.Default().TimeOf(id)); ahead > 30*time.Minute {
			return fmt.Errorf("ID %d is %v ahead, which no window allows", id, ahead)
		}
	}
	return distinct(all)
}

// creep moves the clock by 10 ms each 200 ms, as NTP slews, up to 300 ms and back, and the generator continues.
func creep(ctx context.Context, clock *skew.Family, issued *issuing) error {
	for step := range 60 {
		offset := time.Duration(30-max(step-30, 30-step)) * 10 * time.Millisecond
		if err := clock.Set(offset); err != nil {
			return err
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	if err := clock.Set(0); err != nil {
		return err
	}
	return issued.continues(ctx)
}
