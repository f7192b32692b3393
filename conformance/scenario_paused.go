package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
)

// paused stops the process of a follower, and then that of the leader, while a client issues. The connections to a stopped process stay
// open, and nothing answers on them. Calls continue through the majority.
func paused(ctx context.Context, p *player) error {
	if err := p.connect(); err != nil {
		return err
	}
	b, err := p.busy()
	if err != nil {
		return err
	}
	for _, leader := range []bool{false, true} {
		name, err := p.open.leader(ctx)
		if err != nil {
			return err
		}
		victim := p.open.members[slices.IndexFunc(p.open.members, func(m *process) bool { return (m.name == name) == leader })]
		if err := victim.signal(syscall.SIGSTOP); err != nil {
			return err
		}
		err = b.through(ctx)
		if err != nil {
			err = fmt.Errorf("with member %s stopped (leader: %v): %w", victim.name, leader, err)
		}
		if err := errors.Join(err, victim.signal(syscall.SIGCONT), p.open.ready(ctx)); err != nil {
			return err
		}
	}
	return b.end()
}

// busy is a client that issues IDs by requests and from memory, while the members have faults.
type busy struct {
	*player
	sequence   string
	requested  *job
	generated  *issuing
	generators int   // further ones, opened during faults
	last       int64 // number of the sequence
}

// busy begins to issue with the client c.
func (p *player) busy() (*busy, error) {
	b := &busy{player: p, sequence: p.unique("orders")}
	if err := p.call("create", args{"client": "c", "sequence": b.sequence, "mode": "strict"}, nil); err != nil {
		return nil, err
	}
	if err := p.generator("g", nil); err != nil {
		return nil, err
	}
	var err error
	if b.requested, err = p.run(p.driver, args{"kind": "ids", "name": "c", "threads": 2}); err != nil {
		return nil, err
	}
	b.generated = p.issue("g")
	return b, nil
}

// through makes all kinds of calls, once the majority has a leader. Each number is greater than all before.
func (b *busy) through(ctx context.Context) error {
	err := eventually(ctx, func() error { return b.call("numbers", args{"client": "c", "sequence": b.sequence, "count": 1}, nil) })
	if err != nil {
		return err
	}
	for range 10 {
		var n struct {
			First int64 `json:"first,string"`
		}
		if err := b.call("numbers", args{"client": "c", "sequence": b.sequence, "count": 2}, &n); err != nil {
			return err
		}
		if n.First <= b.last {
			return fmt.Errorf("number %d after %d", n.First, b.last)
		}
		b.last = n.First + 1
		if _, err := b.take("ids", args{"client": "c"}, 10); err != nil {
			return err
		}
	}
	b.generators++
	if err := b.generator(fmt.Sprintf("g%d", b.generators), args{"ready_ms": 30_000}); err != nil {
		return fmt.Errorf("the first window of another generator: %w", err)
	}
	return b.generated.continues(ctx)
}

// end ends the issuing, checks that no ID is there twice, and closes the client.
func (b *busy) end() error {
	if err := b.apart(b.requested, b.generated); err != nil {
		return err
	}
	return b.call("close", args{"client": "c"}, nil)
}
