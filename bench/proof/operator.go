//go:build linux

package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A database is what an operator does with a pair of servers, of which one replicates the other.
type database interface {
	// alive reports whether the server answers.
	alive(ctx context.Context, b *box) bool
	// promote makes the replica a primary.
	promote(ctx context.Context, b *box) error
	// rebuild makes the server a replica of from. Its data and its clients' connections are gone then.
	rebuild(ctx context.Context, b, from *box) error
}

// unanswered is the number of queries, one per second, that a primary leaves unanswered before the operator promotes the replica.
const unanswered = 5

// An operator is a failover manager, for databases that have none. It watches from a third host, promotes the
// replica when the primary does not answer, and makes the old primary a replica of the new one as soon as it answers again.
type operator struct {
	play *play
	db   database

	mu      sync.Mutex
	primary *box
	replica *box // nil while it must be rebuilt
	failed  error
}

// watch starts an operator, which works until ctx ends.
func watch(ctx context.Context, p *play, db database) {
	o := &operator{play: p, db: db, primary: p.servers[0], replica: p.servers[1]}
	p.primary = func(context.Context) (*box, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.primary, o.failed
	}
	go func() {
		for missed := 0; ctx.Err() == nil; sleep(ctx, time.Second) {
			if o.answers(ctx, o.primary) {
				missed = 0
			} else {
				missed++
			}
			if err := o.act(ctx, missed); err != nil && ctx.Err() == nil {
				p.note("operator: " + err.Error())
			}
		}
	}()
}

func (o *operator) answers(ctx context.Context, b *box) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return o.db.alive(ctx, b)
}

// act promotes the replica, or rebuilds the server that was a primary.
func (o *operator) act(ctx context.Context, missed int) error {
	if missed >= unanswered && o.replica != nil {
		if err := o.db.promote(ctx, o.replica); err != nil {
			return fmt.Errorf("promote %s: %w", o.replica.Name, err)
		}
		o.play.note("operator: " + o.replica.Name + " is the primary")
		o.mu.Lock()
		o.primary, o.replica = o.replica, nil
		o.mu.Unlock()
		return nil
	}
	if o.replica == nil {
		old := without(o.play.servers, o.primary)[0]
		if !o.answers(ctx, old) {
			return nil // down, or cut off
		}
		if err := o.db.rebuild(ctx, old, o.primary); err != nil {
			return fmt.Errorf("rebuild %s: %w", old.Name, err)
		}
		o.play.note("operator: " + old.Name + " is a replica again")
		o.mu.Lock()
		o.replica = old
		o.mu.Unlock()
	}
	return nil
}
