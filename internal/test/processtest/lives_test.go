//go:build process

package processtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// lives records the IDs and numbers that all applications got from a cluster and from the cluster restored from it. The
// applications keep running while the clusters start and stop.
type lives struct {
	t       *testing.T
	members []*member
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu      sync.Mutex
	ids     map[int64]string            // application that got each ID
	numbers map[string]map[int64]string // application that got each number, by sequence
	first   time.Time                   // time of the first ID from a member since the last reset
}

func newLives(t *testing.T, members []*member) *lives {
	l := &lives{t: t, members: members, ids: map[int64]string{}, numbers: map[string]map[int64]string{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	t.Cleanup(l.stop)
	return l
}

func (l *lives) stop() {
	l.cancel()
	l.wg.Wait()
}

// id records IDs from first on.
func (l *lives) id(by string, first int64, count, step int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := range count {
		id := first + n*step
		if before, ok := l.ids[id]; ok {
			l.t.Errorf("ID %d was issued by %s, and before by %s", id, by, before)
		}
		l.ids[id] = by
	}
}

// number records numbers from first on.
func (l *lives) number(by, sequence string, first, count int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.numbers[sequence] == nil {
		l.numbers[sequence] = map[int64]string{}
	}
	for n := first; n < first+count; n++ {
		if before, ok := l.numbers[sequence][n]; ok {
			l.t.Errorf("number %d of %s was issued by %s, and before by %s", n, sequence, by, before)
		}
		l.numbers[sequence][n] = by
	}
}

// highest returns the highest number of a sequence.
func (l *lives) highest(sequence string) (highest int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := range l.numbers[sequence] {
		highest = max(highest, n)
	}
	return highest
}

// count returns the numbers of recorded IDs and numbers.
func (l *lives) count() (ids, numbers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, all := range l.numbers {
		numbers += len(all)
	}
	return len(l.ids), numbers
}

// every calls do repeatedly. do may fail, for example while no cluster runs.
func (l *lives) every(do func(ctx context.Context)) {
	l.wg.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-l.ctx.Done():
				return
			}
			ctx, cancel := context.WithTimeout(l.ctx, callTimeout)
			do(ctx)
			cancel()
		}
	})
}

// live starts the applications: clients of each member, embedded generators, and Redis clients.
func (l *lives) live(life string, redis []string) {
	var addrs []string
	for i, m := range l.members {
		addrs = append(addrs, m.api)
		l.every(func(ctx context.Context) {
			resp, err := m.ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 3})
			if err != nil {
				return
			}
			l.mu.Lock()
			if l.first.IsZero() {
				l.first = time.Now()
			}
			l.mu.Unlock()
			for _, r := range resp.GetRanges() {
				l.id(m.name+" "+life, r.GetFirst(), int64(r.GetCount()), r.GetStep())
			}
		})
		for _, sequence := range []string{"strict", "relaxed"} {
			l.every(func(ctx context.Context) {
				resp, err := m.numbers.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: sequence, Count: 2})
				if err == nil {
					l.number(m.name+" "+life, sequence, resp.GetFirst(), int64(resp.GetCount()))
				}
			})
		}
		for _, sequence := range []string{"relaxed", "later"} {
			l.incr(fmt.Sprintf("Redis at %s %s", m.name, life), redis[i], sequence)
		}
	}
	for i := range 3 {
		l.embedded(fmt.Sprintf("generator %d %s", i, life), addrs)
	}
}

// embedded adds an application with its own generator.
func (l *lives) embedded(name string, addrs []string) {
	c, err := client.New(addrs)
	if err != nil {
		l.t.Fatal(err)
	}
	g, err := client.NewGenerator(c, client.WithGeneratorHolder(strings.ReplaceAll(name, " ", "-")))
	if err != nil {
		l.t.Fatal(err)
	}
	l.every(func(ctx context.Context) {
		ranges, err := g.Ranges(ctx, 3)
		if err != nil {
			return
		}
		for _, r := range ranges {
			l.id(name, r.First, int64(r.Count), r.Step)
		}
	})
	l.t.Cleanup(func() { _ = c.Close() })
}

// incr adds a Redis client.
func (l *lives) incr(name, address, sequence string) {
	var conn net.Conn
	var replies *bufio.Reader
	l.every(func(ctx context.Context) {
		n, err := func() (int64, error) {
			if conn == nil {
				var err error
				if conn, err = new(net.Dialer).DialContext(ctx, "tcp", address); err != nil {
					conn = nil
					return 0, err
				}
				replies = bufio.NewReader(conn)
			}
			_ = conn.SetDeadline(time.Now().Add(callTimeout))
			if _, err := fmt.Fprintf(conn, "INCR %s\r\n", sequence); err != nil {
				return 0, errors.Join(err, net.ErrClosed)
			}
			reply, err := replies.ReadString('\n')
			if err != nil {
				return 0, errors.Join(err, net.ErrClosed)
			}
			return strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(reply), ":"), 10, 64)
		}()
		if errors.Is(err, net.ErrClosed) {
			_ = conn.Close()
			conn = nil
		}
		if err == nil {
			l.number(name, sequence, n, 1)
		}
	})
}
