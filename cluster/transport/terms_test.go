package transport

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/internal/position"

	"github.com/hashicorp/raft"
)

// piped returns terms whose connections are pipes; serve handles their other ends.
func piped(serve func(net.Conn)) (*TermClient, *atomic.Int64) {
	dials := new(atomic.Int64)
	return NewTermClient(func(raft.ServerAddress, time.Duration) (net.Conn, error) {
		dials.Add(1)
		a, b := net.Pipe()
		go serve(b)
		return a, nil
	}), dials
}

func TestTermsUseOneConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var term atomic.Uint64
		ts, dials := piped(func(c net.Conn) { serveTerms(c, func() (uint64, bool) { return term.Add(1), true }, nil) })
		defer ts.Close(net.ErrClosed)
		var sum atomic.Uint64
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				got, err := ts.AskTerm(t.Context(), "a", "a@h:1")
				if err != nil {
					t.Error(err)
				}
				sum.Add(got)
			})
		}
		wg.Wait()
		if dials.Load() != 1 || sum.Load() != 50*51/2 {
			t.Errorf("%d connections, the sum of the answers is %d, want each of 1 to 50", dials.Load(), sum.Load())
		}
	})
}

// An answer to a question whose caller no longer waits does not reach another caller.
func TestTermsAreNotMixedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ts, _ := piped(func(c net.Conn) {
			var first, second [termQuestion]byte
			_, _ = io.ReadFull(c, first[:])
			_, _ = io.ReadFull(c, second[:])
			answer := func(question [termQuestion]byte, term uint64) {
				_, _ = c.Write(binary.BigEndian.AppendUint64(question[:], term))
			}
			answer(first, 7)
			answer([termQuestion]byte{9, 9}, 8) // never requested
			answer(second, 9)
			answer(second, 10) // a second answer
			_, _ = io.Copy(io.Discard, c)
		})
		defer ts.Close(net.ErrClosed)
		ctx, cancel := context.WithTimeout(t.Context(), termTimeout/2)
		defer cancel()
		if _, err := ts.AskTerm(ctx, "a", "a@h:1"); err == nil {
			t.Error("an answer before the second question")
		}
		if term, err := ts.AskTerm(t.Context(), "a", "a@h:1"); err != nil || term != 9 {
			t.Errorf("%d, %v, want 9", term, err)
		}
	})
}

func TestBrokenTermConnections(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(net.Conn){
		"closed":         func(c net.Conn) { _ = c.Close() },
		"closed halfway": func(c net.Conn) { _, _ = c.Write([]byte{1, 2, 3}); _ = c.Close() },
		"silent":         func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"of a node that starts": func(c net.Conn) {
			serveTerms(c, func() (uint64, bool) { return 0, false }, nil)
			_ = c.Close()
		},
		"deaf": func(net.Conn) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ts, dials := piped(serve)
				defer ts.Close(net.ErrClosed)
				for i := int64(1); i <= 3; i++ {
					began := time.Now()
					if _, err := ts.AskTerm(t.Context(), "a", "a@h:1"); err == nil {
						t.Error("an answer")
					}
					if took := time.Since(began); took > termTimeout {
						t.Errorf("the request took %v", took)
					}
					synctest.Wait()
					if dials.Load() != i {
						t.Errorf("%d connections after %d failures", dials.Load(), i)
					}
				}
			})
		})
	}
}

func TestMarksOnTheConnectionOfTerms(t *testing.T) {
	t.Parallel()
	want := Mark{position.Position{Cluster: [16]byte{1}, Index: 9, HashIndex: 8}, 7}
	ts, _ := piped(func(c net.Conn) {
		serveTerms(c, func() (uint64, bool) { return 5, true }, func() Mark { return want })
	})
	defer ts.Close(net.ErrClosed)
	for range 3 {
		if got, err := ts.AskMark(t.Context(), "a", "a@h:1"); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		if term, err := ts.AskTerm(t.Context(), "a", "a@h:1"); err != nil || term != 5 {
			t.Errorf("term %d, %v, want 5", term, err)
		}
	}
	earlier, _ := piped(func(c net.Conn) { // a program that keeps no watermark
		for question := make([]byte, termQuestion); ; {
			if _, err := io.ReadFull(c, question); err != nil {
				return
			}
			_, _ = c.Write(binary.BigEndian.AppendUint64(question[:termQuestion:termQuestion], 5))
		}
	})
	defer earlier.Close(net.ErrClosed)
	if got, err := earlier.AskMark(t.Context(), "a", "a@h:1"); err != nil || got != (Mark{}) {
		t.Errorf("%+v, %v, want none", got, err)
	}
}
