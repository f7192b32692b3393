package redis_test

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/slots"
	"github.com/snowraft/snowraft/server/redis"
	"github.com/snowraft/snowraft/trust"
)

// A transaction costs about as much as a pipeline. Its consecutive INCRs of a key become few calls.
func TestTransactionSharesCalls(t *testing.T) {
	t.Parallel()
	f := &fake{}
	_, addr := start(t, redis.Config{Backend: f})
	const count = 5000
	got := all(t, addr, "MULTI\r\n"+strings.Repeat("INCR orders\r\n", count)+"EXEC\r\n")
	if want := "\r\n:4999\r\n:5000\r\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got an answer that ends with %q", got[max(0, len(got)-40):])
	}
	if n := f.nexts.Load(); n > count/1000 {
		t.Errorf("%d calls of the backend", n)
	}
}

// The answer to EXEC may be longer than one write.
func TestTransactionWithLongAnswers(t *testing.T) {
	t.Parallel()
	_, addr := start(t, redis.Config{Backend: &fake{}})
	const count = 20
	got := all(t, addr, "MULTI\r\n"+strings.Repeat("SNOWRAFT.NEXT orders COUNT 10000\r\n", count)+"EXEC\r\n")
	if n := strings.Count(got, "*3\r\n"); n != count*10_000 || !strings.HasSuffix(got, "$6\r\n200000\r\n$6\r\n200000\r\n$0\r\n\r\n") {
		t.Errorf("got %d numbers, and an answer that ends with %q", n, got[max(0, len(got)-40):])
	}
}

// Transactions hold a bounded number of bytes. Beyond it, they take no number.
func TestTransactionsAreBounded(t *testing.T) {
	t.Parallel()
	f := &fake{}
	budget := slots.NewBudget(100, 100, 2<<20, 1)
	s, addr := startLimited(t, redis.Config{Backend: f}, budget)
	long := "EXISTS" + strings.Repeat(" "+strings.Repeat("k", 120), 400) + "\r\n" // about 50 KB
	got := all(t, addr, "MULTI\r\nINCR orders\r\n"+strings.Repeat(long, 6)+"EXEC\r\nINCR orders\r\n")
	const tooLong = "-ERR a transaction holds at most 256 KiB of commands; send a pipeline without MULTI\r\n"
	if want := "+OK\r\n" + strings.Repeat(queued, 6) + tooLong + aborted + ":1\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var open []*client
	for range 8 {
		c := dial(t, addr)
		c.send("MULTI\r\n" + strings.Repeat(long, 5))
		open = append(open, c)
	}
	full := 0
	readers := make([]*reader, len(open))
	for i, c := range open { // all transactions are open before the first of them ends
		readers[i] = c.reader()
		for range 6 {
			if line := readers[i].line(); strings.HasPrefix(line, "-LOADING too many commands are queued in transactions") {
				full++
			}
		}
	}
	for i, c := range open {
		c.send("EXEC\r\n")
		if line := readers[i].line(); line != "*5" && !strings.HasPrefix(line, "-EXECABORT") {
			t.Fatalf("got %q", line)
		}
	}
	if full == 0 {
		t.Error("all transactions were queued")
	}
	for _, c := range open {
		_ = c.Close()
	}
	for range 4 {
		c := dial(t, addr)
		c.send("MULTI\r\n" + long)
		r := c.reader()
		if ok, line := r.line(), r.line(); ok != "+OK" || line != "+QUEUED" { // queued before the connection ends
			t.Fatalf("got %q, %q", ok, line)
		}
		_ = c.Close()
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := budget.Held(); n != 0 {
		t.Errorf("%d bytes are counted after all connections", n)
	}
}

// A command that is long in RESP only is refused before EXEC.
func TestInlineCommandTooLongForTransaction(t *testing.T) {
	t.Parallel()
	_, addr := start(t, redis.Config{Backend: &fake{}})
	c := dial(t, addr)
	c.send("MULTI\r\nEXISTS" + strings.Repeat(" "+strings.Repeat("k", 62), 1000) + "\r\nEXEC\r\nQUIT\r\n")
	got, err := io.ReadAll(c)
	if want := "+OK\r\n-ERR a transaction holds at most 256 KiB of commands; send a pipeline without MULTI\r\n" + aborted + "+OK\r\n"; string(got) != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// The transactions of one token leave room for those of others, and what it queued counts for it until the transaction ends.
func TestTransactionsOfOneTokenLeaveRoom(t *testing.T) {
	t.Parallel()
	ts := newTokens("seq:next:*", "seq:next:orders")
	budget := slots.NewBudget(100, 100, 1<<20, 1)
	s, addr := startLimited(t, redis.Config{Backend: &fake{}, Authenticate: trust.NewAuthorizer(ts).Authenticate}, budget)
	greedy, ok := budget.Take(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, func() {})
	if !ok || !greedy.Serve(1, nil) || !greedy.TryReserve(1<<18-9<<10) {
		t.Fatal("no place")
	}
	counted := budget.Held()
	const full = "-LOADING too many commands are queued in transactions; send a pipeline without MULTI\r\n"
	long := strings.Repeat("EXISTS"+strings.Repeat(" k", 200)+"\r\n", 2)
	for _, tc := range []struct {
		token trust.Scope
		want  string
	}{
		{"seq:next:*", "+OK\r\n+OK\r\n" + full + full},
		{"seq:next:orders", "+OK\r\n+OK\r\n" + queued + queued},
	} {
		if got := all(t, addr, "AUTH "+ts.texts[tc.token]+"\r\nMULTI\r\n"+long); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.token, got, tc.want)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := budget.Held(); n != counted {
		t.Errorf("%d bytes are counted after all connections, before them %d", n, counted)
	}
}
