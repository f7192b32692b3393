package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestClientWaitReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 1)
		f.members[0].serving(false)
		c := f.client(f.addrs())
		if err := c.Ready(); !errors.Is(err, ErrUnavailable) {
			t.Errorf("Ready() = %v before there is a connection, want ErrUnavailable", err)
		}
		if err := c.WaitReady(within(t, 50*time.Millisecond)); !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WaitReady() = %v while the member cannot issue, want ErrUnavailable and the context's error", err)
		}
		waiting := make(chan error)
		go func() { waiting <- c.WaitReady(t.Context()) }()
		f.members[0].serving(true)
		if err := <-waiting; err != nil {
			t.Errorf("WaitReady() = %v when the member can issue", err)
		}
		if err := c.Ready(); err != nil {
			t.Errorf("Ready() = %v after WaitReady", err)
		}
	})
}

func TestClientWaitReadyEndsWithClose(t *testing.T) {
	t.Parallel()
	c, err := New([]string{dead})
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error)
	go func() { waiting <- c.WaitReady(within(t, patience)) }()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; !errors.Is(err, ErrClosed) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("WaitReady() = %v, want ErrClosed at once", err)
	}
}

func TestBufferReadyDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{delay: func() time.Duration { return time.Second }}
		b := openBuffer(t, s)
		if err := b.Ready(); !errors.Is(err, ErrEmpty) {
			t.Errorf("Ready() = %v before the first IDs, want ErrEmpty", err)
		}
		if err := b.WaitReady(t.Context()); err != nil {
			t.Error(err)
		}
		if err := b.Ready(); err != nil || b.Stats().Taken != 0 {
			t.Errorf("Ready() = %v, %+v", err, b.Stats())
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if err := b.Ready(); !errors.Is(err, ErrClosed) {
			t.Errorf("Ready() = %v after Close", err)
		}
	})
}
