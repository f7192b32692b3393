package server_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/server/gateway"
	"github.com/snowraft/snowraft/trust"
)

// place is a process that clients can reach.
type place struct {
	t         *testing.T
	name      string
	web       *http.Client
	base      string // "https://127.0.0.1:7701"
	redis     string // address
	config    *tls.Config
	conn      *grpc.ClientConn
	sequences snowraftv1.SequenceServiceClient
}

// placeAt returns the process with these addresses. config is nil without TLS.
func placeAt(t *testing.T, name string, addresses ports, config *tls.Config) place {
	t.Helper()
	api, web := addresses.APIAddr(), addresses.HTTPAddr()
	p := place{t: t, name: name, base: "http://" + web, redis: addresses.RedisAddr(), config: config}
	secure := insecure.NewCredentials()
	if config != nil {
		secure, p.base = credentials.NewTLS(config), "https://"+web
	}
	p.web = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: config, DialContext: placeOf(t).DialContext}}
	p.conn = connect(t, api, grpc.WithTransportCredentials(secure))
	t.Cleanup(func() { _ = p.conn.Close() })
	p.sequences = snowraftv1.NewSequenceServiceClient(p.conn)
	return p
}

// ports has the addresses of a member or gateway.
type ports interface {
	APIAddr() string
	HTTPAddr() string
	RedisAddr() string
}

// post sends a request to a path, and returns the answer, which is in JSON.
func (p place) post(token, path, body string) ([]byte, error) {
	return p.send(token, http.MethodPost, path, body)
}

func (p place) send(token, method, path, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := p.web.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, raw)
	}
	return raw, err
}

func call(p place, token, sequence, id string) (int64, error) {
	resp, err := p.sequences.NextNumbers(as(p.t.Context(), token), &snowraftv1.NextNumbersRequest{Sequence: sequence, Count: 1, RequestId: id})
	return resp.GetFirst(), err
}

// ways holds the protocols over which a request for numbers can have an ID. Each function returns the first number of the answer.
var ways = map[string]func(p place, token, sequence, id string) (int64, error){
	"a call": call,
	"a stream": func(p place, token, sequence, id string) (int64, error) {
		ctx, cancel := context.WithCancel(as(p.t.Context(), token))
		defer cancel()
		stream, err := p.sequences.StreamNumbers(ctx)
		if err != nil {
			return 0, err
		}
		req := &snowraftv1.NextNumbersRequest{Sequence: sequence, Count: 1, RequestId: id}
		if err := stream.Send(&snowraftv1.StreamNumbersRequest{Id: 1, Request: req}); err != nil {
			return 0, err
		}
		resp, err := stream.Recv()
		if err == nil {
			err = status.ErrorProto(resp.GetError())
		}
		return resp.GetResponse().GetFirst(), err
	},
	"a block": func(p place, token, sequence, id string) (int64, error) {
		if sequence == "strict" { // has no blocks
			return call(p, token, sequence, id)
		}
		resp, err := p.sequences.AllocateBlock(as(p.t.Context(), token), &snowraftv1.AllocateBlockRequest{Sequence: sequence, Count: 1, RequestId: id})
		return resp.GetBlock().GetFirst(), err
	},
	"JSON": func(p place, token, sequence, id string) (int64, error) {
		raw, err := p.post(token, "/v1/sequences:next", fmt.Sprintf(`{"sequence":%q,"count":1,"requestId":%q}`, sequence, id))
		var answer struct {
			First int64 `json:",string"`
		}
		if err == nil {
			err = json.Unmarshal(raw, &answer)
		}
		return answer.First, err
	},
	"HTTP": func(p place, token, sequence, id string) (int64, error) {
		raw, err := p.post(token, "/seq/"+sequence+"?request_id="+url.QueryEscape(id), "")
		var n int64
		if err == nil {
			_, err = fmt.Sscan(string(raw), &n)
		}
		return n, err
	},
}

// The answer to a request with an ID belongs to the caller, over every protocol and at every process: a repetition gets it, and
// the same ID of another token does not.
func TestAnswersBelongToTheirCallers(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("secured %v", secure), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) { answersBelongToTheirCallers(t, secure) })
		})
	}
}

// town is a cluster with a gateway, the processes that its callers reach, and callers.
type town struct {
	nodes          []*node
	leads, follows *node
	places         []place // leader, follower, gateway
	callers        []party
	admins         []place // leader and follower for the holder of the secret; nil in an open cluster
}

// openTown starts a cluster of three members with a gateway, a relaxed and a strict sequence. In a secured cluster there are two
// callers, with tokens of the given scopes.
func openTown(t *testing.T, secure bool, scopes ...string) *town {
	t.Helper()
	w := &town{callers: []party{{kind: commandv1.ActorKind_ACTOR_KIND_OPEN}}}
	front := gateway.Config{}
	var config, own *tls.Config
	if secure {
		s := startPorts(t, 3, true)
		one, first := s.token("one", scopes...)
		two, second := s.token("two", scopes...)
		w.nodes, config = s.nodes, s.pinned(one)
		w.callers = []party{{one, commandv1.ActorKind_ACTOR_KIND_TOKEN, first}, {two, commandv1.ActorKind_ACTOR_KIND_TOKEN, second}}
		relay, _ := s.token("gateway", "tokens:verify")
		front.Token = s.withPin(relay)
		var err error
		if own, err = (trust.ClientTLS{Keys: s.keys}).Config(); err != nil {
			t.Fatal(err)
		}
	} else {
		w.nodes = startCluster(t, 3, func(cfg *server.Config) { cfg.RedisAddr = "127.0.0.1:0" })
	}
	front.Members = []string{w.nodes[0].server.APIAddr()}
	g := openGatewayWith(t, front)
	until(t, "the gateway is ready", func() bool { return g.Ready() == nil })
	w.leads = leader(t, w.nodes)
	w.follows = except(w.nodes, w.leads)[0]
	w.places = []place{
		placeAt(t, "leader", w.leads.server, config), placeAt(t, "follower", w.follows.server, config), placeAt(t, "gateway", g, nil),
	}
	admin := w.places[0]
	if secure {
		w.admins = []place{placeAt(t, "leader", w.leads.server, own), placeAt(t, "follower", w.follows.server, own)}
		admin = w.admins[0]
	}
	for _, made := range []*snowraftv1.Sequence{relaxed("relaxed"), strict("strict")} {
		if _, err := admin.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: made}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func answersBelongToTheirCallers(t *testing.T, secure bool) {
	w := openTown(t, secure, "seq:next:*")
	for _, sequence := range []string{"relaxed", "strict"} {
		taken := make(map[int64]string)
		for way, next := range ways {
			for _, first := range w.places {
				id := strings.Join([]string{way, first.name, sequence}, " ")
				for c, by := range w.callers {
					who := fmt.Sprintf("caller %d, %s of %s at the %s", c, way, sequence, first.name)
					n, err := next(first, by.token, sequence, id)
					if err != nil {
						t.Errorf("%s: %v", who, err)
						continue
					}
					if other, ok := taken[n]; ok {
						t.Errorf("%s: %d, which is the number of %s", who, n, other)
					}
					taken[n] = who
					for _, later := range w.places {
						for way, repeat := range ways {
							if again, err := repeat(later, by.token, sequence, id); err != nil || again != n {
								t.Errorf("%s: %d, and repeated by %s at the %s: %d, %v", who, n, way, later.name, again, err)
							}
						}
					}
				}
			}
		}
	}
}
