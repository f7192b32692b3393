package redis_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/snowraft/snowraft/internal/slots"
	"github.com/snowraft/snowraft/server/redis"
)

// Tests that measure the heap are not parallel, because they would measure the other tests too.

// heap returns the number of bytes in use.
func heap() int {
	runtime.GC()
	runtime.GC() // pools keep memory for one collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// longIDBytes is the size of an ID of longIDs in an answer.
const longIDBytes = len("$19\r\n" + "4611686018427387905\r\n")

// longIDs returns a backend whose IDs have 19 digits.
func longIDs() *fake {
	f := &fake{}
	f.ids.Store(1 << 62)
	return f
}

// An idle connection does not hold its last answer.
func TestIdleConnectionsHoldNoAnswers(t *testing.T) {
	_, addr := start(t, redis.Config{Backend: longIDs()})
	const count = 20
	before := heap()
	for range count {
		c := dial(t, addr)
		c.send("SNOWRAFT.ID COUNT 100000\r\n")
		if _, err := io.CopyN(io.Discard, c.Conn, int64(len("*100000\r\n")+100_000*longIDBytes)); err != nil {
			t.Fatal(err)
		}
	}
	// The server may take a moment to notice that all answers were read.
	most, more := 4<<20, 0
	for range 100 {
		if more = heap() - before; more < most {
			break
		}
	}
	t.Logf("%d idle connections hold %d KiB", count, more>>10)
	if more >= most {
		t.Errorf("expected less than %d KiB", most>>10)
	}
}

// The bound for all clients also holds if each of many clients has received only the beginning of its answer.
func TestUnreadAnswersOfManyClientsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		const count, limit, each = 40, 16 << 20, 64 << 10
		budget := slots.NewBudget(1000, 1000, limit, 1)
		startOn(t, redis.Config{Backend: longIDs()}, limited(l, budget))
		before := heap()
		for range count {
			c := l.dial()
			defer c.Close()
			if _, err := io.WriteString(c, strings.Repeat("SNOWRAFT.ID COUNT 100000\r\n", 4)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		unread, more := int(budget.Held()), heap()-before
		t.Logf("%d clients, a limit of %d KiB: %d KiB are unread, and %d KiB in use", count, limit>>10, unread>>10, more>>10)
		if most := limit + count*(each+16<<10); unread <= limit || unread > most { // each connection also has a buffer for input
			t.Errorf("expected more than %d KiB unread and at most %d KiB", limit>>10, most>>10)
		}
		// A connection also has buffers.
		if most := limit + count*5*each; more > most {
			t.Errorf("expected at most %d KiB in use", most>>10)
		}
	})
}

// A client that reads no answers gets no further numbers of shared calls.
func TestUnreadAnswersOfSharedCallsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		f.add("orders", 1, 1, -1, true)
		l := newPipes()
		const limit, each = 400_000, 64 << 10
		budget := slots.NewBudget(1000, 1000, limit, 1)
		startOn(t, redis.Config{Backend: f}, limited(l, budget))
		c := l.dial()
		defer c.Close()
		most := 0
		for range 800 {
			if _, err := io.WriteString(c, strings.Repeat("INCR orders\r\n", 300)); err != nil {
				break // closed by the server
			}
			synctest.Wait()
			most = max(most, int(budget.Held()))
		}
		if most <= limit || most > limit+each {
			t.Errorf("%d bytes were unread, want more than %d and at most %d", most, limit, limit+each)
		}
	})
}

// Sent answers are freed even while further answers of the same client wait.
func TestSentAnswersAreFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		s := startOn(t, redis.Config{Backend: &fake{}}, l)
		before := heap()
		c := l.dial()
		defer c.Close()
		const size, count = 60_000, 250
		command := fmt.Sprintf("*2\r\n$4\r\nECHO\r\n$%d\r\n%s\r\n", size, strings.Repeat("x", size))
		for range count {
			if _, err := io.WriteString(c, command); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if unread := s.Unread(); unread < count*size {
			t.Fatalf("%d bytes are unread, want %d", unread, count*size)
		}
		full := heap() - before
		if _, err := io.CopyN(io.Discard, c, count*size-(200<<10)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		unread, more := s.Unread(), heap()-before
		t.Logf("%d KiB were in use; of %d KiB unread, %d KiB", full>>10, unread>>10, more>>10)
		if unread > 400<<10 || more > 2<<20 {
			t.Error("expected about 200 KiB and their connection's buffers")
		}
	})
}

// A connection that waits for the budget continues when another client returns bytes, even if its own client reads nothing.
func TestAnswerBudgetReturnedByOtherClients(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := longIDs()
		first := f.ids.Load()
		l := newPipes()
		s := startOn(t, redis.Config{Backend: f}, limited(l, slots.NewBudget(1000, 1000, 1<<20, 1)))
		a, b := l.dial(), l.dial()
		defer b.Close()
		if _, err := io.WriteString(a, "SNOWRAFT.ID COUNT 100000\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // uses the budget up
		if _, err := io.WriteString(b, strings.Repeat("SNOWRAFT.ID COUNT 1000\r\n", 20)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := f.ids.Load() - first; n >= 120_000 {
			t.Fatalf("%d IDs were taken, beyond the budget", n)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := f.ids.Load() - first; n != 120_000 {
			t.Errorf("%d IDs were taken, want all 120000", n)
		}
		if n := s.Unread(); n != 20*(len("*1000\r\n")+1000*longIDBytes) {
			t.Errorf("%d bytes are counted, want the bytes of the waiting answers", n)
		}
	})
}

// Within the budget, the IDs of an answer are taken together, so that the answer is all IDs or an error. Otherwise they are
// taken as they are sent.
func TestIDsAreTakenTogetherWithinTheBudget(t *testing.T) {
	t.Parallel()
	const count = 5000
	var want strings.Builder
	fmt.Fprintf(&want, "*%d\r\n", count)
	for i := range count {
		id := fmt.Sprint(i + 1)
		fmt.Fprintf(&want, "$%d\r\n%s\r\n", len(id), id)
	}
	for _, tc := range []struct {
		name   string
		budget int64
		calls  int
		fails  bool
	}{
		{"within the budget", 1 << 20, 1, false},
		{"beyond the budget", 40 << 10, 5, false},
		{"beyond the budget, and an error", 40 << 10, 3, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			calls := 0 // used by one connection's goroutine only
			f := &fake{before: func(context.Context, string, string) error {
				if calls++; tc.fails && calls == tc.calls {
					return errors.New("planted")
				}
				return nil
			}}
			var log bytes.Buffer
			s, addr := startLimited(t, redis.Config{Backend: f, Logger: slog.New(slog.NewTextHandler(&log, nil))}, slots.NewBudget(1000, 1000, tc.budget, 1))
			c := dial(t, addr)
			c.send(fmt.Sprintf("SNOWRAFT.ID COUNT %d\r\nPING\r\n", count))
			if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(c)
			if err != nil {
				t.Fatal(err)
			}
			want := want.String() + "+PONG\r\n"
			if tc.fails {
				// No client accepts this text as a complete answer.
				want = want[:strings.Index(want, "$4\r\n2049\r\n")]
			}
			if string(got) != want {
				t.Errorf("got %d bytes that end with %q, want %d", len(got), got[max(len(got)-20, 0):], len(want))
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if calls != tc.calls {
				t.Errorf("the backend was called %d times, want %d", calls, tc.calls)
			}
			if logged := strings.Contains(log.String(), "error=planted"); logged != tc.fails {
				t.Errorf("the log is %q", &log)
			}
		})
	}
}
