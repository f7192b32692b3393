package attacks

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Target is a member: the addresses of its ports.
type Target struct{ API, HTTP, Raft, Gossip, Redis string }

// Siege is hostile traffic on all ports of some members.
type Siege struct {
	Targets []Target
	// Secured says that the ports speak TLS.
	Secured bool
	// Token is a valid token without any right; empty for none.
	Token string
	// Captured are datagrams of gossip between members, which are sent once more.
	Captured [][]byte
	Seed     uint64
}

const (
	// strangers is how many strangers act at a time, act how long each pauses between its acts: the machine
	// that the members are on has to have time for them too.
	strangers = 8
	act       = 40 * time.Millisecond
	// held is how many connections a flood has, and hold how long it keeps them.
	held = 100
	hold = 2 * time.Second
)

// Lay attacks at random until ctx ends, and returns how many acts there were.
func (s Siege) Lay(ctx context.Context) uint64 {
	var acts atomic.Uint64
	var wg sync.WaitGroup
	for i := range strangers {
		r := rand.New(rand.NewPCG(s.Seed, uint64(i)))
		wg.Go(func() {
			tick := time.NewTicker(act)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
				within, cancel := context.WithTimeout(ctx, hold)
				s.act(within, r)
				cancel()
				acts.Add(1)
			}
		})
	}
	wg.Wait()
	return acts.Load()
}

// act is one thing that a stranger does. Its outcome does not count.
func (s Siege) act(ctx context.Context, r *rand.Rand) {
	t := s.Targets[r.IntN(len(s.Targets))]
	ports := []string{t.API, t.HTTP, t.Raft, t.Gossip, t.Redis}
	port := ports[r.IntN(len(ports))]
	switch r.IntN(12) {
	case 0, 1:
		s.garbage(ctx, r, port)
	case 2:
		_ = Datagrams(ctx, t.Gossip, noise(r, 1400), labeled(noise(r, 1400)))
	case 3:
		if len(s.Captured) > 0 {
			_ = Datagrams(ctx, t.Gossip, s.Captured[r.IntN(len(s.Captured))])
		}
	case 4:
		if r.IntN(20) == 0 { // it takes the stranger's time as well
			_ = NestedCompression(ctx, t.Gossip)
		}
	case 5:
		_ = ShortVersions(ctx, t.Gossip)
	case 6:
		_ = MillionNodes(ctx, t.Gossip, 3)
	case 7:
		s.handshake(ctx, t.Raft)
	case 8:
		s.flood(ctx, r, port)
	case 9:
		_, _ = HugeHeaders(ctx, t.API, 1, 1<<20)
	case 10:
		_, _ = Rebind(ctx, t.HTTP, http.MethodPost, "/v1/ids:generate", "{}")
	default:
		s.call(ctx, t.HTTP)
	}
}

// garbage says what begins as a message may, over TLS or not.
func (s Siege) garbage(ctx context.Context, r *rand.Rand, address string) {
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer conn.Close() //nolint:errcheck // nothing counts
	if s.Secured && r.IntN(2) == 0 {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a stranger's
	}
	heads := []string{"", "\x16\x03\x01", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "SNOWRAFT\x01", string(labeled(nil)), "*3\r\n$3\r\nSET\r\n", "POST /v1/ids:generate HTTP/1.1\r\n"}
	if _, err := conn.Write(append([]byte(heads[r.IntN(len(heads))]), noise(r, 16<<10)...)); err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.CopyN(io.Discard, conn, 64<<10)
}

func noise(r *rand.Rand, most int) []byte {
	b := make([]byte, 1+r.IntN(most))
	for i := range b {
		b[i] = byte(r.Uint32() & 0xff)
	}
	return b
}

// handshake shakes hands on a Raft port as a member of another cluster does.
func (Siege) handshake(ctx context.Context, raft string) {
	from := stranger()
	from.Cluster = stranger().ID
	conn, err := greet(ctx, raft, from, stranger().ID)
	if err == nil {
		_ = conn.Close()
	}
}

// flood opens many connections that say nothing, for as long as ctx lasts.
func (Siege) flood(ctx context.Context, r *rand.Rand, address string) {
	var conns []net.Conn
	for range 1 + r.IntN(held) {
		conn, err := dial(ctx, "tcp", address)
		if err != nil {
			break
		}
		conns = append(conns, conn)
	}
	<-ctx.Done()
	for _, conn := range conns {
		_ = conn.Close()
	}
}

// call makes calls that take rights, with a token that has none. Without a token it makes none that could succeed.
func (s Siege) call(ctx context.Context, address string) {
	scheme := "http"
	client := http.Client{Timeout: patience}
	if s.Secured {
		scheme = "https"
		client.Transport = &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // a stranger's
	}
	for path, body := range map[string]any{
		"/v1/layouts":         map[string]any{"name": "hostile"},
		"/v1/leader:transfer": map[string]any{},
		"/v1/sequences":       map[string]any{"name": "hostile"},
		"/v1/ids:generate":    map[string]any{"count": 1000},
		"/v1/workers:acquire": map[string]any{"holder": "hostile"},
	} {
		raw, err := json.Marshal(body)
		if err != nil {
			return
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s://%s%s", scheme, address, path), strings.NewReader(string(raw)))
		if err != nil {
			return
		}
		switch {
		case s.Token != "":
			req.Header.Set("Authorization", "Bearer "+s.Token)
		case s.Secured:
			req.Header.Set("Authorization", "Bearer snowraft_1_forged")
		default:
			req.Header.Set("Content-Type", "text/plain") // an open cluster would do it
			req.Header.Set("Origin", "http://attacker.example")
		}
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}
}
