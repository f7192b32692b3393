//go:build process

package processtest

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowraft/snowraft/internal/test/freeport"
	"github.com/snowraft/snowraft/internal/test/lincheck"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// retryable begins the errors of the Redis protocol after which a retry succeeds.
const retryable = "LOADING "

// listenRedis makes a member, which must not be started yet, listen for Redis clients.
func (m *member) listenRedis() string {
	address := freeport.Address(m.t)
	m.flags = append(m.flags, "--redis-addr", address, "--initial-redis-create", "strict")
	return address
}

// pythonWithRedis returns the path of a Python that has the client library. Debian's Python may not be
// the first one in the path.
func pythonWithRedis(t *testing.T) string {
	t.Helper()
	for _, path := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(path, "-c", "import redis").Run() == nil {
			return path
		}
	}
	t.Fatal("no Python that can import redis: install Debian's python3-redis")
	return ""
}

// redisClient is a program or a goroutine that increments its own key.
type redisClient struct {
	key string
	// gaveUp reports whether the client stopped after a retryable error; nil: it never does.
	gaveUp func() bool
	// check checks the client's results so far.
	check func(t *testing.T)
}

// startClient starts a client's program, and logs its last lines if the test fails.
func startClient(t *testing.T, path string, args ...string) *process {
	t.Helper()
	p := startProgram(t, path, nil, args...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s %q:\n%s\n%s", path, args, p.stdout.tail(5), p.stderr.tail(10))
		}
	})
	return p
}

// TestRedisClients runs four clients that increment keys at a follower
// while the leader is killed.
func TestRedisClients(t *testing.T) {
	t.Parallel()
	members := newCluster(t, 3)
	addresses := make(map[*member]string)
	for _, m := range members {
		addresses[m] = m.listenRedis()
		m.start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	lead := leader(t, members)
	asked := others(members, lead)[0]
	address := addresses[asked]
	until(t, "the Redis listener is open", func() bool { return !freeport.IsFree(address) })

	s, began, killed := watchStalls(t), time.Now(), time.Time{}
	exact := func() bool { // an election before the kill may skip numbers
		if killed.IsZero() {
			return !s.elects(began, time.Now())
		}
		return !s.elects(began, killed)
	}
	clients := []redisClient{goRedis(t, address, exact), redisCLI(t, address, exact), redisBenchmark(t, address), redisPy(t, address, exact)}
	progress := func(more int64) {
		for _, c := range clients {
			from := asked.lastNumber(c.key)
			until(t, c.key+" gets more numbers", func() bool { return asked.lastNumber(c.key) >= from+more || c.gaveUp != nil && c.gaveUp() })
		}
	}
	progress(20)
	killed = time.Now()
	lead.kill()
	progress(1)
	took := time.Since(killed)
	progress(20)
	lead.start().untilIssues()
	progress(20)
	for _, c := range clients {
		c.check(t)
	}
	t.Logf("killed %s: all clients of %s had numbers after %v", lead.name, asked.name, took.Round(time.Millisecond))
}

// lastNumber returns the last number of a sequence, or 0 if there is none.
func (m *member) lastNumber(name string) int64 {
	ctx, cancel := context.WithTimeout(m.t.Context(), callTimeout)
	defer cancel()
	resp, err := m.numbers.GetLast(ctx, &snowraftv1.GetLastRequest{Sequence: name})
	if err != nil {
		return 0
	}
	return resp.GetLast()
}

// goRedis starts clients of Go's library with its default options.
func goRedis(t *testing.T, address string, exact func() bool) redisClient {
	t.Helper()
	const key, clients = "go:orders", 8
	client := redis.NewClient(&redis.Options{Addr: address})
	t.Cleanup(func() { _ = client.Close() })
	ctx := t.Context()

	// Without faults the values equal the values of Redis.
	if exists, err := client.Exists(ctx, key).Result(); err != nil || exists != 0 {
		t.Errorf("EXISTS before the first INCR: %d, %v", exists, err)
	}
	if err := client.Get(ctx, key).Err(); err != redis.Nil { //nolint:errorlint // the library returns the plain value
		t.Errorf("GET before the first INCR: %v", err)
	}
	for want := range int64(5) {
		if got, err := client.Incr(ctx, key).Result(); err != nil || got != want+1 && exact() {
			t.Errorf("INCR: %d, %v, want %d", got, err, want+1)
		}
	}
	if got, err := client.IncrBy(ctx, key, 10).Result(); err != nil || got != 15 && exact() {
		t.Errorf("INCRBY 10: %d, %v, want 15", got, err)
	}
	piped, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Incr(ctx, key)
		p.IncrBy(ctx, key, 4)
		p.Get(ctx, key)
		return nil
	})
	asRedis := err == nil && piped[0].(*redis.IntCmd).Val() == 16 && piped[1].(*redis.IntCmd).Val() == 20 && piped[2].(*redis.StringCmd).Val() == "20"
	if err != nil || !asRedis && exact() {
		t.Errorf("a pipeline answered %v, %v; want 16, 20 and 20", piped, err)
	}

	load := newLoad(t, nil)
	var all lincheck.History
	var failed atomic.Pointer[error]
	for i := range clients {
		load.client(pace, func() {
			count := int64(1 + i%2*9)
			began := time.Now()
			got, err := client.IncrBy(context.WithoutCancel(ctx), key, count).Result()
			if err != nil {
				failed.Store(&err)
				return
			}
			all.Add(lincheck.Call{By: "go-redis", Began: began, Ended: time.Now(), First: got - count + 1, Last: got})
		})
	}
	return redisClient{key: key, check: func(t *testing.T) {
		t.Helper()
		load.stop()
		if err := failed.Load(); err != nil {
			t.Errorf("go-redis returned an error: %v", *err)
		}
		calls := all.Calls()
		if err := lincheck.CheckOrder(calls); err != nil || len(calls) == 0 || lincheck.Numbers(calls)[0].First <= 20 {
			t.Errorf("go-redis, %d calls: %v", len(calls), err)
		}
	}}
}

// redisCLI starts Redis's command line, which does not retry.
func redisCLI(t *testing.T, address string, exact func() bool) redisClient {
	t.Helper()
	const key = "cli:orders"
	host, port, _ := net.SplitHostPort(address)
	program := installed(t, "redis-cli", "redis-tools")
	p := startClient(t, program, "-h", host, "-p", port, "-r", "1000000", "-i", "0.005", "INCR", key)
	return redisClient{key: key, check: func(t *testing.T) {
		t.Helper()
		if !p.running() {
			t.Errorf("redis-cli exited: %s", p.stderr.tail(5))
		}
		p.kill()
		ascending(t, "redis-cli", p, exact)
	}}
}

// redisPy starts a client of Python's library, with the retries that its users configure.
func redisPy(t *testing.T, address string, exact func() bool) redisClient {
	t.Helper()
	const key = "py:orders"
	script, err := filepath.Abs("testdata/incr.py")
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(address)
	p := startClient(t, pythonWithRedis(t), script, host, port, key)
	return redisClient{key: key, check: func(t *testing.T) {
		t.Helper()
		if !p.running() {
			t.Errorf("the Python client exited: %s", p.stderr.tail(5))
		}
		p.kill()
		if refused := ascending(t, "redis-py", p, exact); refused > 0 {
			t.Errorf("redis-py returned %d errors, want 0", refused)
		}
	}}
}

// ascending fails the test unless the lines that a client printed are ascending numbers
// from 1 or retryable errors. The first numbers have no gap if exact returns true. It returns the number of these errors. The last
// line may be incomplete.
func ascending(t *testing.T, who string, p *process, exact func() bool) (refused int) {
	t.Helper()
	text := p.stdout.String()
	text = text[:strings.LastIndexByte(text, '\n')+1]
	var numbers []int64
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		number, err := strconv.ParseInt(line, 10, 64)
		switch {
		case err == nil:
			numbers = append(numbers, number)
		case strings.HasPrefix(line, retryable):
			refused++
		case line != "":
			t.Errorf("%s printed %q", who, line)
		}
	}
	for i := 1; i < len(numbers); i++ {
		if numbers[i] <= numbers[i-1] {
			t.Errorf("%s got %d after %d", who, numbers[i], numbers[i-1])
		}
	}
	if len(numbers) < 10 || !slices.Equal(numbers[:10], []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) && exact() {
		t.Errorf("%s got %d numbers, the first ones %v; want 1 to 10 first", who, len(numbers), numbers[:min(10, len(numbers))])
	}
	if said := p.stderr.String(); said != "" {
		t.Errorf("%s printed to stderr: %s", who, said)
	}
	t.Logf("%s got %d numbers and %d retryable errors", who, len(numbers), refused)
	return refused
}

// redisBenchmark starts Redis's benchmark, which stops after an error.
func redisBenchmark(t *testing.T, address string) redisClient {
	t.Helper()
	const key = "counter:__rand_int__" // key of the benchmark's INCR test
	host, port, _ := net.SplitHostPort(address)
	program := installed(t, "redis-benchmark", "redis-tools")
	run := func(args ...string) *process {
		return startClient(t, program, append([]string{"-h", host, "-p", port, "-t", "incr", "--csv"}, args...)...)
	}
	loops := run("-c", "20", "-n", "1000", "-l")
	refusal := regexp.MustCompile(`^(Error from server: ` + retryable + `.*\n)+$`)
	gaveUp := func() bool { return !loops.running() && refusal.MatchString(loops.stderr.String()) }
	return redisClient{key: key, gaveUp: gaveUp, check: func(t *testing.T) {
		t.Helper()
		switch {
		case loops.running():
			loops.kill()
		case gaveUp():
			t.Logf("redis-benchmark stopped after an error: %s", loops.stderr.tail(1))
		default:
			t.Errorf("redis-benchmark exited: %s", loops.stderr.String())
		}
		for _, args := range [][]string{{"-c", "50", "-n", "2000"}, {"-c", "50", "-n", "2000", "-P", "16"}} {
			p := run(args...)
			if code := p.exit(); code != 0 || !strings.Contains(p.stdout.String(), `"INCR",`) || strings.Contains(p.stderr.String(), "rror") {
				t.Errorf("redis-benchmark %q: exit code %d: %s%s", args, code, p.stdout.String(), p.stderr.String())
			}
		}
	}}
}
