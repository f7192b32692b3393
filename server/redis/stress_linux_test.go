package redis_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/slots"
	"github.com/snowraft/snowraft/server/redis"
)

var stress = flag.Duration("redis.stress", 400*time.Millisecond, "how long random clients try a server, in each way of writing")

var increments = map[string]int64{"k0": 1, "k1": 2, "k2": 3, "k3": 4, "little": 1}

// moody is a Backend whose numbers may be in memory, late, or unavailable.
type moody struct{ fake }

func (m *moody) TryNext(ctx context.Context, name string, count uint64) (redis.Numbers, bool) {
	if rand.IntN(3) > 0 {
		return redis.Numbers{}, false
	}
	return m.fake.TryNext(ctx, name, count)
}

func (m *moody) Next(ctx context.Context, name string, count uint64) (redis.Numbers, error) {
	for range rand.IntN(50) {
		runtime.Gosched()
	}
	if rand.IntN(60) == 0 {
		return redis.Numbers{}, &rpc.Error{Code: codes.Unavailable, Reason: rpc.NoLeader, Message: "no leader is known"}
	}
	return m.fake.Next(ctx, name, count)
}

// Clients of many kinds end, or the server ends, in any state. Each answer belongs to its command, each number goes to one
// client, and nothing is left open.
func TestRandomClients(t *testing.T) {
	for name, hide := range map[string]bool{"visible": false, "hidden": true} {
		t.Run(name, func(t *testing.T) {
			files := files(t)
			for end := time.Now().Add(*stress); time.Now().Before(end) && !t.Failed(); {
				m := &moody{}
				for name, increment := range increments {
					left := int64(-1)
					if name == "little" {
						left = 1000
					}
					m.add(name, 1, increment, left, increment%2 == 0)
				}
				l := listen(t, "127.0.0.1:0")
				addr := l.Addr().String()
				if hide {
					l = hidden{l}
				}
				s := newServer(redis.Config{Backend: m})
				if rand.IntN(3) == 0 {
					l = limited(l, slots.NewBudget(1000, 1000, 1<<20, 1))
				}
				served := make(chan error, 1)
				go func() { served <- s.Serve(l) }()
				early := rand.IntN(4) == 0
				var clients sync.WaitGroup
				seen := &numbers{all: make(map[string]bool)}
				for range 10 {
					clients.Go(func() {
						for range 3 {
							if err := oneClient(addr, seen); err != nil && !early {
								t.Error(err)
							}
						}
					})
				}
				if early {
					for range rand.IntN(3000) {
						runtime.Gosched()
					}
				} else {
					clients.Wait()
				}
				if early && rand.IntN(2) == 0 {
					ended, cancel := context.WithCancel(t.Context())
					cancel()
					_ = s.Close(ended)
				}
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if err := <-served; err != nil {
					t.Error(err)
				}
				clients.Wait()
				if n := s.Unread(); n != 0 {
					t.Errorf("%d bytes are counted as unread", n)
				}
			}
			if n := openFiles(t, files); n > files {
				t.Errorf("%d files are open, %d before", n, files)
			}
		})
	}
}

func openFiles(t *testing.T, most int) (n int) {
	for range 10_000 {
		if n = files(t); n <= most {
			break
		}
		runtime.Gosched()
	}
	return n
}

type numbers struct {
	mu  sync.Mutex
	all map[string]bool
}

func (n *numbers) add(key string, number int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := fmt.Sprint(key, " ", number)
	if n.all[at] {
		return false
	}
	n.all[at] = true
	return true
}

// oneClient returns an error that describes a wrong answer.
func oneClient(addr string, seen *numbers) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	tcp := c.(*net.TCPConn)
	defer c.Close()
	var in strings.Builder
	var want []string
	long := 1 + rand.IntN(60)
	if rand.IntN(10) == 0 {
		long = 3000
	}
	for i := range 1 + rand.IntN(long) {
		key := fmt.Sprintf("k%d", rand.IntN(4))
		var words []string
		switch rand.IntN(12) {
		case 0:
			text := strconv.Itoa(i)
			words, want = []string{"ECHO", text}, append(want, "$"+text)
		case 1:
			words, want = []string{"GET", key}, append(want, "get")
		case 2:
			if long < 100 && rand.IntN(4) == 0 {
				text := strings.Repeat("x", rand.IntN(60_000))
				words, want = []string{"ECHO", text}, append(want, "$"+text)
			} else {
				words, want = []string{"PING"}, append(want, "+PONG")
			}
		case 3:
			words, want = []string{"INCR", "little"}, append(want, ":little")
		case 4:
			if rand.IntN(4) == 0 {
				words, want = []string{"SNOWRAFT.ID", "COUNT", "20000"}, append(want, "*20000")
			} else {
				words, want = []string{"WHAT"}, append(want, "-ERR unknown")
			}
		case 5, 6:
			count := strconv.Itoa(1 + rand.IntN(5))
			words, want = []string{"INCRBY", key, count}, append(want, ":"+key+" "+count)
		default:
			words, want = []string{"INCR", key}, append(want, ":"+key)
		}
		if rand.IntN(4) == 0 {
			in.WriteString(strings.Join(words, " ") + "\r\n")
		} else {
			fmt.Fprintf(&in, "*%d\r\n", len(words))
			for _, w := range words {
				fmt.Fprintf(&in, "$%d\r\n%s\r\n", len(w), w)
			}
		}
	}
	mood := rand.IntN(6)
	switch mood {
	case 0:
		in.WriteString("QUIT\r\n")
		want = append(want, "+OK")
	case 1:
		in.WriteString("*99999999\r\n")
		want = append(want, "-ERR Protocol error")
	}
	sent := make(chan error, 1)
	cut := -1 // everything
	if rand.IntN(5) == 0 {
		cut = rand.IntN(in.Len())
	}
	go func() {
		defer close(sent)
		rest := in.String()
		if cut >= 0 {
			rest = rest[:cut]
		}
		for len(rest) > 0 {
			n := len(rest)
			if rand.IntN(2) == 0 {
				n = 1 + rand.IntN(min(n, 10+rand.IntN(10_000)))
			}
			if _, err := io.WriteString(c, rest[:n]); err != nil {
				sent <- err
				return
			}
			rest = rest[n:]
			for range rand.IntN(10) {
				runtime.Gosched()
			}
		}

	}()
	if cut >= 0 {
		if rand.IntN(2) == 0 {
			<-sent
		}
		if rand.IntN(2) == 0 {
			_ = tcp.SetLinger(0)
		}
		return nil
	}
	late := rand.IntN(4) == 0
	if late {
		if err := <-sent; err != nil {
			return fmt.Errorf("mood %d: sending: %w", mood, err)
		}
		if mood > 1 && rand.IntN(2) == 0 {
			_ = tcp.CloseWrite()
		}
	}
	r := bufio.NewReaderSize(c, 64<<10)
	last := make(map[string]int64)
	leave := -1
	if rand.IntN(6) == 0 {
		leave = rand.IntN(len(want))
	}
	for i, w := range want {
		if i == leave {
			if rand.IntN(2) == 0 {
				_ = tcp.SetLinger(0)
			}
			return nil
		}
		got, err := r.ReadString('\n')
		if err != nil {
			return fmt.Errorf("mood %d, late %v: answer %d of %d: %w", mood, late, i, len(want), err)
		}
		got = strings.TrimSuffix(got, "\r\n")
		switch {
		case w[0] == '$':
			text, err := r.ReadString('\n')
			if err != nil || got != fmt.Sprintf("$%d", len(w)-1) || text != w[1:]+"\r\n" {
				return fmt.Errorf("got %q, %.40q, %w instead of %.40q", got, text, err, w)
			}
		case w == "get":
			if got[0] == '$' && got != "$-1" {
				if _, err := r.ReadString('\n'); err != nil {
					return err
				}
			} else if got != "$-1" && got[0] != '-' {
				return fmt.Errorf("got %q to GET", got)
			}
		case w[0] == '*':
			if got != w {
				if strings.HasPrefix(got, "-LOADING") {
					break
				}
				return fmt.Errorf("got %q instead of %q", got, w)
			}
			for range 20000 {
				if line, err := r.ReadSlice('\n'); err != nil || line[0] != '$' {
					return fmt.Errorf("got %q, %w", line, err)
				}
				if _, err := r.ReadSlice('\n'); err != nil {
					return err
				}
			}
		case w[0] == ':':
			if got == "" || got[0] == '-' {
				if !strings.HasPrefix(got, "-LOADING") && !strings.Contains(got, "exhausted") {
					return fmt.Errorf("got %q", got)
				}
				continue
			}
			key, by, _ := strings.Cut(w[1:], " ")
			count, _ := strconv.Atoi("0" + by)
			n, err := strconv.ParseInt(got[1:], 10, 64)
			if err != nil || got[0] != ':' || n <= last[key] {
				return fmt.Errorf("got %q, %w after %d", got, err, last[key])
			}
			last[key] = n
			for range max(1, count) {
				if !seen.add(key, n) {
					return fmt.Errorf("%s %d was issued twice", key, n)
				}
				n -= increments[key]
			}
		case !strings.HasPrefix(got, w):
			return fmt.Errorf("got %q instead of %q", got, w)
		}
	}
	if err := <-sent; err != nil {
		return err
	}
	if mood < 2 {
		if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil && !errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("mood %d: then %q, %w", mood, rest, err)
		}
	}
	return nil
}

func files(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
