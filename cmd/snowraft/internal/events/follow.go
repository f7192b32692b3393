package events

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// pause is the time between two calls.
	pause = time.Second
	// remembered is the greatest number of events that a follower remembers: more than all members of a usual cluster keep.
	remembered = 20_000
)

// follower prints events as they happen.
type follower struct {
	app     *cli.App
	remote  *cli.Remote
	out     *cli.Printer
	known   map[key]uint64 // printed counts
	missed  string         // names of the members that did not answer the last call
	failing bool           // the last call failed
	// repeatable reports whether a failed call may succeed later.
	repeatable func(error) bool
}

// key identifies an event while the event repeats. A restarted member numbers its events from 1 again.
type key struct {
	member string
	number uint64
	first  int64
}

func newFollower(a *cli.App, r *cli.Remote, out *cli.Printer) *follower {
	return &follower{app: a, remote: r, out: out, known: make(map[key]uint64), repeatable: func(err error) bool {
		failed, ok := errors.AsType[*client.Error](err)
		return ok && failed.Repeatable()
	}}
}

// run prints events until ctx ends. It continues while no member answers, because users follow events through such failures.
// It returns the error of a first call that fails.
func (f *follower) run(ctx context.Context, req *snowraftv1.ListEventsRequest) error {
	for {
		resp, err := f.remote.Views.ListEvents(ctx, req)
		switch {
		case err == nil:
			f.failing = false
			if err := f.print(resp); err != nil {
				return err
			}
		case len(f.known) == 0 || !f.repeatable(err):
			return err
		case !f.failing:
			f.failing = true
			f.app.Warn("no events: %v; retrying", err)
		}
		req.PageSize = most // room for bursts between two calls
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// print prints the events that are new or have happened again, the latest last.
func (f *follower) print(resp *snowraftv1.ListEventsResponse) error {
	if len(f.known) > remembered {
		clear(f.known) // bounds memory; all events are printed again, rarely
	}
	for _, e := range slices.Backward(resp.GetEvents()) {
		k := key{e.GetMemberId(), e.GetNumber(), e.GetFirstAtMs()}
		if f.known[k] == e.GetCount() {
			continue
		}
		f.known[k] = e.GetCount()
		if err := f.out.Answer(e, cli.Line("%s  %s  %s  %s", cli.Stamp(e.GetAtMs()), e.GetMember(), cli.Word(e.GetKind()), text(e))); err != nil {
			return err
		}
	}
	if missed := strings.Join(resp.GetUnreachedMembers(), ", "); missed != f.missed {
		f.missed = missed
		warnMissed(f.app, resp)
	}
	return nil
}

// warnMissed warns about the members whose events are missing.
func warnMissed(a *cli.App, resp *snowraftv1.ListEventsResponse) {
	if names := resp.GetUnreachedMembers(); len(names) > 0 {
		a.Warn("events missing, because these members did not answer in time: %s", strings.Join(names, ", "))
	}
}
