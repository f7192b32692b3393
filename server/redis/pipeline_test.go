package redis_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidwall/redcon"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/redis"
)

func TestPipelineIsCoalescedInOrder(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // the race detector sees no order in an answer's way through the kernel
	var calls []string
	f := &fake{before: func(_ context.Context, call, name string) error {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, call+" "+name)
		return nil
	}}
	f.add("a", 1, 1, -1, true)
	f.add("b", 100, 10, -1, true)
	_, addr := start(t, redis.Config{Backend: f})
	// One packet, so that the commands arrive together.
	got := all(t, addr, "INCR a\r\nINCR b\r\nINCRBY a 3\r\nINCR b\r\nINCR a\r\nGET a\r\nINCR a\r\nINCRBY a\r\nINCR a\r\nPING\r\n")
	want := ":1\r\n:100\r\n:4\r\n:110\r\n:5\r\n$1\r\n5\r\n:6\r\n" +
		"-ERR wrong number of arguments for 'incrby' command\r\n:7\r\n+PONG\r\n"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	mu.Lock()
	defer mu.Unlock()
	if got, want := strings.Join(calls, ", "), "next a, next b, last a, next a, next a"; got != want {
		t.Errorf("the backend was called for %s, want %s", got, want)
	}
}

// More keys and more numbers than one call takes.
func TestLongPipeline(t *testing.T) {
	t.Parallel()
	f := &fake{}
	_, addr := start(t, redis.Config{Backend: f})
	const rounds, names = 50, 100
	var in, want strings.Builder
	for round := range rounds {
		for name := range names {
			fmt.Fprintf(&in, "*2\r\n$4\r\nINCR\r\n$6\r\nkey-%02d\r\n", name)
			fmt.Fprintf(&want, ":%d\r\n", round+1)
		}
	}
	for i := range 4 {
		in.WriteString("INCRBY many 600000\r\n")
		fmt.Fprintf(&want, ":%d\r\n", (i+1)*600000)
	}
	if got := all(t, addr, in.String()); got != want.String() {
		t.Errorf("%d bytes of answers differ from the %d expected", len(got), want.Len())
	}
}

// A client that sends everything before it reads gets all its answers.
func TestLateReaderGetsAllAnswers(t *testing.T) {
	t.Parallel()
	_, addr := start(t, redis.Config{Backend: &fake{}})
	const count = 24 // answers of 100,000 IDs, 30 MB: more than the bound for a client's unread answers and the system's buffers
	c := dial(t, addr)
	c.send(strings.Repeat("SNOWRAFT.ID COUNT 100000\r\n", count))
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	id, want, got := int64(0), []byte(nil), []byte(nil)
	for i := range count {
		want = append(want[:0], "*100000\r\n"...)
		for range 100_000 {
			id++
			want = redcon.AppendBulkInt(want, id)
		}
		got = slices.Grow(got[:0], len(want))[:len(want)]
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("answer %d begins with %.20q and ends with %q, %v", i, got, got[len(got)-20:], err)
		}
	}
}

func TestIncrCreatesSequencesIfAllowed(t *testing.T) {
	t.Parallel()
	for _, off := range []bool{false, true} {
		f := &fake{off: off}
		_, addr := start(t, redis.Config{Backend: f})
		want, creates := ":1\r\n+PONG\r\n:4\r\n", int64(1)
		if off {
			want, creates = "-ERR there is no sequence orders\r\n+PONG\r\n-ERR there is no sequence orders\r\n", 2
		}
		if got := all(t, addr, "INCR orders\r\nPING\r\nINCRBY orders 3\r\n"); got != want {
			t.Errorf("off: %v: got %q, want %q", off, got, want)
		}
		if _, err := f.find("orders"); (err != nil) != off || f.creates.Load() != creates {
			t.Errorf("off: %v: the sequence is there: %v, after %d requests to create it", off, err == nil, f.creates.Load())
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  *rpc.Error
		want string
	}{
		{&rpc.Error{Code: codes.Unavailable, Reason: rpc.NoLeader, Message: "no leader is known"}, "-LOADING no leader is known\r\n"},
		{&rpc.Error{Code: codes.Unavailable, Reason: rpc.ShuttingDown, Message: "the member shuts down"}, "-LOADING the member shuts down\r\n"},
		{&rpc.Error{Code: codes.DeadlineExceeded, Message: "too late"}, "-LOADING too late; trying again may skip numbers and never repeats one\r\n"},
		{&rpc.Error{Code: codes.Unavailable, Message: "no connection"}, "-LOADING no connection; trying again may skip numbers and never repeats one\r\n"},
		{&rpc.Error{Code: codes.Unavailable, Reason: rpc.NotLeader, Message: "no longer"}, "-LOADING no longer\r\n"},
		{&rpc.Error{Code: codes.Aborted, Reason: rpc.SequenceChanged, Message: "it was changed"}, "-LOADING it was changed\r\n"},
		{&rpc.Error{Code: codes.ResourceExhausted, RetryAfter: 1, Message: "wait"}, "-LOADING wait\r\n"},
		{
			&rpc.Error{Code: codes.Unknown, Reason: rpc.CommitUnknown, Message: "no word of it"},
			"-LOADING no word of it; trying again may skip numbers and never repeats one\r\n",
		},
		{&rpc.Error{Code: codes.FailedPrecondition, Reason: rpc.VersionTooLow, Message: "too old"}, "-ERR too old\r\n"},
		{&rpc.Error{Code: codes.Internal, Message: "two\r\nlines"}, "-ERR two  lines\r\n"},
		{&rpc.Error{Code: codes.Internal}, "-ERR the member gave no reason\r\n"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			t.Parallel()
			f := &fake{before: func(context.Context, string, string) error { return tc.err }}
			_, addr := start(t, redis.Config{Backend: f})
			for _, command := range []string{"INCR a", "INCRBY a 3", "GET a", "EXISTS a", "SNOWRAFT.ID", "SNOWRAFT.ID COUNT 2"} {
				if got := all(t, addr, command+"\r\nPING\r\n"); got != tc.want+"+PONG\r\n" {
					t.Errorf("%s: got %q", command, got)
				}
			}
			if n := f.creates.Load(); n > 0 {
				t.Error("a sequence was created for an error that is no reason to")
			}
		})
	}
}

func TestErrorPrefixesFollowTheTableOfReasons(t *testing.T) {
	t.Parallel()
	var reason atomic.Value
	f := &fake{before: func(context.Context, string, string) error { return rpc.NewError(reason.Load().(string), "no") }}
	_, addr := start(t, redis.Config{Backend: f})
	for _, r := range rpc.Reasons() {
		if r.Redis != "LOADING" && r.Redis != "ERR" {
			continue // reason of no command, or of a connection
		}
		reason.Store(r.Name)
		got := all(t, addr, "SNOWRAFT.ID\r\n")
		if !strings.HasPrefix(got, "-"+r.Redis+" no") || strings.Contains(got, "skip") != (r.Name == rpc.CommitUnknown) {
			t.Errorf("%s: got %q", r.Name, got)
		}
	}
}

// After a transient error, the rest of a pipeline does not wait for the same error again.
func TestPipelineFailsAtOnceAfterTransientError(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	f := &fake{before: func(context.Context, string, string) error {
		calls.Add(1)
		return &rpc.Error{Code: codes.Unavailable, Reason: rpc.NoLeader, Message: "no leader is known"}
	}}
	_, addr := start(t, redis.Config{Backend: f})
	var pipeline strings.Builder
	for i := range 30 {
		fmt.Fprintf(&pipeline, "INCR k%d\r\nGET k%d\r\nEXISTS k%d\r\nSNOWRAFT.ID\r\n", i, i, i)
	}
	pipeline.WriteString("INCR k\r\n")
	if got := all(t, addr, pipeline.String()); strings.Count(got, "-LOADING no leader is known\r\n") != 121 {
		t.Errorf("got %q", got)
	}
	if n := calls.Load(); n > 1 {
		t.Errorf("the backend was called %d times", n)
	}
}

// The commands of a pipeline that exceed an exhausted sequence are refused together.
func TestExhaustedPipeline(t *testing.T) {
	t.Parallel()
	var lasts atomic.Int64
	f := &fake{before: func(_ context.Context, call, _ string) error {
		if call == "last" {
			lasts.Add(1)
		}
		return nil
	}}
	f.add("little", 1, 1, 5, true)
	_, addr := start(t, redis.Config{Backend: f})
	const refused = "-ERR sequence little is exhausted\r\n"
	want := refused + ":3\r\n:4\r\n:5\r\n" + strings.Repeat(refused, 200)
	if got := all(t, addr, "INCRBY little 7\r\nINCRBY little 3\r\nINCR little\r\nINCR little\r\n"+strings.Repeat("INCR little\r\n", 200)); got != want {
		t.Errorf("got %q", got)
	}
	if n := f.nexts.Load() + lasts.Load(); n > 12 {
		t.Errorf("the backend was called %d times", n)
	}
}
