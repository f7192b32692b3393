package redis_test

import (
	"context"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/redis"
)

// meters record counts by command, and failures also by reason.
type meters struct {
	mu    sync.Mutex
	count map[string]uint64
	took  map[string]time.Duration // longest time
	calls int                      // calls of Answered
}

func newMeters() *meters {
	return &meters{count: make(map[string]uint64), took: make(map[string]time.Duration)}
}

func (m *meters) of(command string) redis.Meter { return &meter{m, command} }

type meter struct {
	*meters
	command string
}

func (m *meter) Answered(ok, failed uint64, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	m.took[m.command] = max(m.took[m.command], took)
	if ok > 0 {
		m.count[m.command] += ok
	}
	if failed > 0 {
		m.count[m.command+" failed"] += failed
	}
}

func (m *meter) Failed(why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count[m.command+" "+rpc.FromError(why).Reason]++
}

// want checks the counts so far, resets them, and returns the number of calls of Answered.
func (m *meters) want(t *testing.T, want map[string]uint64) (calls int) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !maps.Equal(m.count, want) {
		t.Errorf("counted %v, want %v", m.count, want)
	}
	clear(m.count)
	calls, m.calls = m.calls, 0
	return calls
}

// Every command is counted with its own outcome, even if several commands of a pipeline fail together.
func TestMetersCountEveryCommand(t *testing.T) {
	t.Parallel()
	f, m := &fake{off: true}, newMeters()
	f.add("one", 1, 1, 1, true)
	f.add("fast", 1, 1, -1, false)
	_, addr := start(t, redis.Config{Backend: f, Meter: m.of})
	all(t, addr, "HELLO 3\r\nHELLO 2\r\nPING\r\nPing x\r\nINCR one\r\nGET one\r\nGET none\r\nEXISTS none\r\nQUIT\r\n")
	m.want(t, map[string]uint64{"hello": 2, "ping": 2, "incr": 1, "get": 2, "exists": 1, "quit": 1})
	all(t, addr, "INCR none\r\nINCR none\r\nINCRBY none 3\r\nINCR one\r\nSNOWRAFT.ID none\r\nINCR\r\nINCRBY one 0\r\nDEL one\r\nFOO\r\n")
	m.want(t, map[string]uint64{
		"incr failed": 4, "incr " + rpc.UnknownSequence: 2, "incr " + rpc.SequenceExhausted: 1, "incr " + rpc.InvalidArgument: 1,
		"incrby failed": 2, "incrby " + rpc.UnknownSequence: 1, "incrby " + rpc.InvalidArgument: 1,
		"snowraft.id failed": 1, "snowraft.id " + rpc.UnknownLayout: 1,
		"other failed": 2, "other " + rpc.InvalidArgument: 2,
	})
	all(t, addr, "PING\r\n*1\r\n!\r\n")
	m.want(t, map[string]uint64{"ping": 1, "other failed": 1, "other " + rpc.InvalidArgument: 1})
	all(t, addr, "POST / HTTP/1.1\r\n")
	m.want(t, map[string]uint64{"other failed": 1, "other " + rpc.InvalidArgument: 1})

	all(t, addr, strings.Repeat("INCR fast\r\n", 100)+strings.Repeat("INCRBY fast 2\r\nGET fast\r\n", 100))
	if calls := m.want(t, map[string]uint64{"incr": 100, "incrby": 100, "get": 100}); calls > 30 {
		t.Errorf("the meters of 300 commands in one pipeline were called %d times", calls)
	}
}

// The time of a command ends with its answer, which is sent together with the other answers of its pipeline.
func TestMetersMeasureFromArrivalToAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, m := &fake{before: func(context.Context, string, string) error {
			<-time.After(time.Second)
			return nil
		}}, newMeters()
		f.add("one", 1, 1, -1, true)
		l := newPipes()
		startOn(t, redis.Config{Backend: f, Meter: m.of}, l)
		c := l.dial()
		defer c.Close()
		for _, round := range []struct {
			in, out string
			want    map[string]time.Duration
		}{
			{"PING\r\n", "+PONG\r\n", map[string]time.Duration{"ping": 0}},
			{"PING\r\nINCR one\r\nEXISTS one\r\n", "+PONG\r\n:1\r\n:1\r\n",
				map[string]time.Duration{"ping": 2 * time.Second, "incr": 2 * time.Second, "exists": 2 * time.Second}},
		} {
			<-time.After(time.Minute) // delay of the client, which does not count
			clear(m.took)
			if _, err := io.WriteString(c, round.in); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, make([]byte, len(round.out))); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if !maps.Equal(m.took, round.want) {
				t.Errorf("%q took %v, want %v", round.in, m.took, round.want)
			}
		}
	})
}

// docs/metrics.md and docs/redis.md list exactly the implemented commands.
func TestPagesListEveryCommand(t *testing.T) {
	t.Parallel()
	_, addr := start(t, redis.Config{Backend: &fake{}})
	var names []string
	for _, m := range regexp.MustCompile(`\$\d+\r\n(\S+)`).FindAllStringSubmatch(all(t, addr, "COMMAND LIST\r\n"), -1) {
		names = append(names, "`"+m[1]+"`")
	}
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	if list := strings.Join(names, ", "); len(names) < 10 || !strings.Contains(strings.Join(strings.Fields(string(page)), " "), list) {
		t.Errorf("metrics.md has no list %s", list)
	}
	page, err = os.ReadFile("../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Commands\n")
	table, _, _ = strings.Cut(strings.TrimLeft(table, "\n"), "\n\n")
	var listed []string
	for _, cell := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(table, -1) {
		for _, name := range regexp.MustCompile("`([A-Z.]+)").FindAllStringSubmatch(cell[1], -1) {
			listed = append(listed, "`"+strings.ToLower(name[1])+"`")
		}
	}
	slices.Sort(listed)
	if !slices.Equal(listed, names) {
		t.Errorf("redis.md lists %s, served are %s", listed, names)
	}
}
