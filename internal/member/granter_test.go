package member

import (
	"errors"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// The window of an earlier start is not continued: before this member's replica shows it, the worker may be released
// and belong to another holder.
func TestRestartAcquiresAWindowOfItsOwn(t *testing.T) {
	m := openOne(t)
	acquire := func(start byte) allocator.Grant {
		g, err := leaderGranter{m}.AcquireWorker(t.Context(), allocator.AcquireRequest{
			Layout: snowflake.Default().Name(), Holder: "restarted", Nonce: allocator.Nonce{start},
			NowMillis: m.clock.Now().Wall, Window: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	before, after := acquire(1), acquire(2)
	if after.Token == before.Token || after.Worker == before.Worker && after.From < before.Until {
		t.Errorf("granted %+v after %+v, want another window", after, before)
	}
}

// A leader does not propose a claim that its replica refutes for good, so refused claims cannot fill the log.
func TestRefutedClaimsWriteNothing(t *testing.T) {
	m := openOne(t)
	by := anyone(t)
	layout := snowflake.Default().Name()
	acquire := func(start byte) allocator.Grant {
		g, err := m.AcquireWorker(by, allocator.AcquireRequest{Layout: layout, Holder: "h", Nonce: allocator.Nonce{start}, NowMillis: m.clock.Now().Wall, Window: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	released, held := acquire(1), acquire(2)
	release := func(g allocator.Grant, start byte) error {
		return m.ReleaseWorker(by, allocator.ReleaseRequest{Layout: layout, Worker: g.Worker, Token: g.Token, Nonce: allocator.Nonce{start}, Until: g.Until, Next: g.From})
	}
	extend := func(g allocator.Grant, start byte) error {
		_, err := m.ExtendWindow(by, allocator.ExtendRequest{
			Layout: layout, Worker: g.Worker, Token: g.Token, Nonce: allocator.Nonce{start}, Until: g.Until, ID: 7, NowMillis: m.clock.Now().Wall, Window: time.Minute,
		})
		return err
	}
	if err := release(released, 1); err != nil {
		t.Fatal(err)
	}
	create(t, m, "s", commandv1.SequenceMode_SEQUENCE_MODE_RELAXED)
	key := allocator.ReturnKey{1}
	block, err := m.AllocateBlock(by, "s", 10, key)
	if err != nil {
		t.Fatal(err)
	}
	for name, claim := range map[string]struct {
		ask  func() error
		want error
	}{
		"extension of a released worker":       {func() error { return extend(released, 1) }, allocator.ErrWindowMismatch},
		"extension with another nonce":         {func() error { return extend(held, 9) }, allocator.ErrWindowMismatch},
		"release by another start":             {func() error { return release(held, 9) }, allocator.ErrWindowMismatch},
		"release under an earlier token":       {func() error { held := held; held.Token--; return release(held, 2) }, allocator.ErrWindowMismatch},
		"return with another key":              {func() error { return m.ReturnBlock(by, "s", block.Token, 1, allocator.ReturnKey{2}) }, allocator.ErrNotLastBlock},
		"return of a block before the last":    {func() error { return m.ReturnBlock(by, "s", block.Token-1, 1, key) }, allocator.ErrNotLastBlock},
		"return of numbers of another process": {func() error { return m.ReturnBlock(by, "s", 1, 1, key) }, allocator.ErrNotLastBlock},
	} {
		before := m.fsm.Applied()
		if err := claim.ask(); !errors.Is(err, claim.want) {
			t.Errorf("%s: %v, want %v", name, err, claim.want)
		}
		if wrote := m.fsm.Applied() - before; wrote != 0 {
			t.Errorf("%s: wrote %d entries", name, wrote)
		}
	}
	if err := extend(held, 2); err != nil {
		t.Errorf("extension by the holder: %v", err)
	}
	if err := m.ReturnBlock(by, "s", block.Token, 1, key); err != nil {
		t.Errorf("return by the holder: %v", err)
	}
}
