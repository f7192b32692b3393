package top

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// idleTimeout is the time after which the follower leaves a member that sends nothing. Members send an overview every second.
	idleTimeout = 3 * time.Second
	// pause is the interval between rounds over all addresses.
	pause = time.Second
)

// errDone reports that all requested overviews were shown.
var errDone = errors.New("done")

// scene is the content of a view.
type scene struct {
	*snowraftv1.Overview
	documents
}

// display shows scenes.
type display interface {
	show(now scene) error
	// cut reports why no overview follows the last one. The display may keep showing the last one.
	cut(last scene, why string) error
}

// follower shows the overviews that members send. It follows one member at a time.
type follower struct {
	remote  *cli.Remote
	display display
	last    *snowraftv1.Overview
	left    int     // overviews to show; negative: no limit
	reader  *reader // nil if the display shows no documents
}

// scene returns the newest content of the view.
func (f *follower) scene() scene {
	if f.reader == nil {
		return scene{Overview: f.last}
	}
	return scene{f.last, f.reader.newest()}
}

// follow shows overviews until ctx ends, all requested overviews were shown, or a member refuses.
func (f *follower) follow(ctx context.Context) error {
	for failed := 0; ; {
		for i, address := range f.remote.Addresses {
			err := f.watch(ctx, address, func() { failed = 0 })
			if ctx.Err() != nil || errors.Is(err, errDone) {
				return nil //nolint:nilerr // stopped by the user, or complete
			}
			if final(err) {
				return err
			}
			failed++
			next := f.remote.Addresses[(i+1)%len(f.remote.Addresses)]
			if err := f.display.cut(f.scene(), fmt.Sprintf("%s: %s; trying %s", address, rpc.Message(err), next)); err != nil {
				return err
			}
		}
		if failed < len(f.remote.Addresses) {
			continue
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// showError is the error of a display. Another member cannot fix it.
type showError struct{ error }

// watch shows the overviews of one member until its stream breaks. It calls answered after each message.
func (f *follower) watch(ctx context.Context, address string, answered func()) error {
	r, err := f.remote.At(address)
	if err != nil {
		return showError{err}
	}
	defer r.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if f.reader != nil {
		done := make(chan struct{})
		go func() { defer close(done); f.reader.read(ctx, r) }()
		defer func() { cancel(nil); <-done }() // no call may be in progress when r closes
	}
	timer := time.AfterFunc(min(r.Timeout, idleTimeout), func() { cancel(errors.New("no answer")) })
	defer timer.Stop()
	stream, err := r.Views.WatchOverview(ctx, &snowraftv1.WatchOverviewRequest{})
	for err == nil {
		var resp *snowraftv1.WatchOverviewResponse
		if resp, err = stream.Recv(); err != nil {
			break
		}
		timer.Reset(idleTimeout)
		answered()
		o := resp.GetOverview()
		if o.GetComposedBy() == f.last.GetComposedBy() && o.GetComposedAtMs() == f.last.GetComposedAtMs() {
			continue // shown already
		}
		f.last = o
		if err := f.display.show(f.scene()); err != nil {
			return showError{err}
		}
		if f.left--; f.left == 0 {
			return errDone
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// final reports whether all members would fail with the same error.
func final(err error) bool {
	if _, ok := errors.AsType[showError](err); ok {
		return true
	}
	switch rpc.FromError(err).Code {
	case codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented, codes.InvalidArgument:
		return true
	default:
		return false
	}
}
