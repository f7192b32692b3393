package server_test

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// span is the numbers from first to last that an answer lets a client issue.
type span struct {
	path        string
	first, last int64
}

// foreignClients has the requests of other systems' clients for numbers of the sequence shop.orders. span reads the numbers of an answer
// as the client does.
var foreignClients = []struct {
	method, path string
	span         func(answer string) (first, last int64, err error)
}{
	{"PATCH", "/segments/shop/orders?step=100", func(answer string) (int64, int64, error) {
		last, err := strconv.ParseInt(answer, 10, 64)
		return last - 99, last, err
	}},
	{"GET", "/tinyid/id/nextSegmentIdSimple?bizType=shop.orders&token=t", func(answer string) (int64, int64, error) {
		var current, loading, last, delta, remainder int64
		_, err := fmt.Sscanf(answer, "%d,%d,%d,%d,%d", &current, &loading, &last, &delta, &remainder)
		return current + 1, last, err
	}},
	{"GET", "/tinyid/id/nextIdSimple?bizType=shop.orders&token=t", func(answer string) (int64, int64, error) {
		n, err := strconv.ParseInt(answer, 10, 64)
		return n, n, err
	}},
	{"GET", "/api/segment/get/shop.orders", func(answer string) (int64, int64, error) {
		n, err := strconv.ParseInt(answer, 10, 64)
		return n, n, err
	}},
	{"POST", "/seq/shop.orders?count=7", func(answer string) (int64, int64, error) {
		lines := strings.Fields(answer)
		n, err := strconv.ParseInt(lines[0], 10, 64)
		return n, n + 6, err
	}},
}

// Clients of other systems share one sequence, and no two of them may issue the same number, also after the leader has crashed.
func TestForeignClientsShareNumbers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		l := leader(t, nodes)
		l.createSequence(relaxed("shop.orders"))
		var spans []span
		round := func(nodes []*node) {
			for _, n := range nodes {
				for _, c := range foreignClients {
					until(t, n.cfg.Name+" answers "+c.path, func() bool {
						code, answer := n.ask(c.method, c.path, "")
						if code != http.StatusOK || answer == "" {
							return false
						}
						first, last, err := c.span(answer)
						if err != nil {
							t.Fatalf("%s: %q: %v", c.path, answer, err)
						}
						spans = append(spans, span{c.path, first, last})
						return true
					})
				}
			}
		}
		round(nodes)
		round(nodes)
		l.crash()
		round(except(nodes, l))
		l.start().untilReady()
		round(nodes)
		slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
		end := int64(0)
		for i, s := range spans {
			if s.first <= end || s.last < s.first {
				t.Fatalf("%v begins at or before the end of %v", s, spans[max(i-1, 0)])
			}
			end = s.last
		}
		if want := len(foreignClients) * (3 + 3 + 2 + 3); len(spans) != want {
			t.Errorf("%d answers, want %d", len(spans), want)
		}
	})
}

// A segment counts against the rate of a token like the numbers in it, and is never shorter than its step.
func TestSegmentsStayWithinTheRate(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		n, admin := s.nodes[0], s.admin(s.nodes[0])
		if _, err := snowraftv1.NewSequenceServiceClient(admin).CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: relaxed("shop.orders")}); err != nil {
			t.Fatal(err)
		}
		token := &snowraftv1.Token{Name: "app", Scopes: []string{"seq:next:shop.*"}, Rate: 10, Burst: 20}
		made, err := snowraftv1.NewTokenServiceClient(admin).CreateToken(t.Context(), &snowraftv1.CreateTokenRequest{Token: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			step, status int
			part         string
		}{
			{21, http.StatusBadRequest, "the rate of the token allows at most 20 numbers at once"},
			{20, http.StatusOK, "20"},
			{20, http.StatusTooManyRequests, rpc.RateLimited},
		} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, fmt.Sprintf("http://%s/segments/shop/orders?step=%d", n.server.HTTPAddr(), c.step), http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+made.GetText())
			resp, err := browser(t).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != c.status || !strings.Contains(string(body), c.part) {
				t.Errorf("a step of %d: %s %s, %v; want %d with %s", c.step, resp.Status, body, err, c.status, c.part)
			}
		}
	})
}
