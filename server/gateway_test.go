package server_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

func TestGatewayGRPC(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		g := inFront(t, nodes)
		all := make(seen)
		for _, count := range []uint32{0, 1, 1, 5, 64, 65, 5000} {
			ids, err := g.generate(count, 0)
			if err != nil || len(ids) != int(max(count, 1)) {
				t.Fatalf("%d IDs: %d of them, %v", count, len(ids), err)
			}
			all.add(t, "g", ids...)
			after := slices.Max(ids) + 200<<22 // 200 ticks later
			if ids, err = g.generate(count, after); err != nil || slices.Min(ids) <= after {
				t.Errorf("%d IDs after %d: %v, %v", count, after, ids, err)
			}
			all.add(t, "g", ids...)
		}
		packed, err := g.ids.GenerateIds(t.Context(), &snowraftv1.GenerateIdsRequest{Count: 10, Packed: new(true)})
		if err != nil || len(packed.GetIds()) != 10 || len(packed.GetRanges()) != 0 {
			t.Errorf("packed: %v, %v", packed, err)
		}
		all.add(t, "packed", packed.GetIds()...)
		if uuids, err := g.ids.GenerateUuids(t.Context(), &snowraftv1.GenerateUuidsRequest{Count: 3}); err != nil || len(uuids.GetUuids()) != 3 {
			t.Errorf("UUIDs: %v, %v", uuids, err)
		}
		id := packed.GetIds()[0]
		if d, err := g.ids.DecodeId(t.Context(), &snowraftv1.DecodeIdRequest{Id: id}); err != nil || d.GetLayout() != "default" {
			t.Errorf("decode: %v, %v", d, err)
		}
		if w, err := g.ids.WhoIs(t.Context(), &snowraftv1.WhoIsRequest{Id: id}); err != nil || !strings.HasPrefix(w.GetGrant().GetHolder(), "m") {
			t.Errorf("WhoIs() = %v, %v", w, err)
		}
		if m, err := g.cluster.ListMembers(t.Context(), &snowraftv1.ListMembersRequest{}); err != nil || len(m.GetMembers()) != 3 {
			t.Errorf("members: %v, %v", m, err)
		}
		stream, err := g.ids.StreamIds(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := stream.Send(&snowraftv1.StreamIdsRequest{Id: 1, Request: &snowraftv1.GenerateIdsRequest{Count: 7}}); err != nil {
				t.Fatal(err)
			}
			resp, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			all.add(t, "stream", expand(resp.GetResponse())...)
		}
		health, err := grpc_health_v1.NewHealthClient(g.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: snowraftv1.IdService_ServiceDesc.ServiceName})
		if err != nil || health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("health: %v, %v", health, err)
		}
	})
}

// pairs takes numbers of a sequence in pairs, for many callers at the same time. It returns them sorted.
func (g *testGateway) pairs(sequence string) (got []int64) {
	g.t.Helper()
	var mu sync.Mutex
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			for range 20 {
				var n *snowraftv1.NextNumbersResponse
				if err := pastElection(func() (err error) {
					n, err = g.next(sequence, 2)
					return err
				}); err != nil || n.GetCount() != 2 || n.GetIncrement() != 1 {
					g.t.Errorf("%v, %v", n, err)
					return
				}
				mu.Lock()
				got = append(got, n.GetFirst(), n.GetFirst()+1)
				mu.Unlock()
			}
		})
	}
	callers.Wait()
	slices.Sort(got)
	return got
}

func TestGatewaySequences(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		g := inFront(t, nodes)
		for _, s := range []*snowraftv1.Sequence{
			{Name: "relaxed", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED},
			{Name: "dated", Format: "R-{seq:5}", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT},
		} {
			if _, err := g.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: s}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := g.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: strict("strict")}); err != nil {
			t.Fatal(err)
		}
		for i, n := range g.pairs("strict") {
			if n != int64(i)+1 {
				t.Fatalf("number %d of a strict sequence is %d", i+1, n)
			}
		}
		if n, err := g.next("dated", 2); err != nil || !slices.Equal(n.GetTexts(), []string{"R-00001", "R-00002"}) {
			t.Errorf("texts: %v, %v", n, err)
		}
		once := &snowraftv1.NextNumbersRequest{Sequence: "relaxed", Count: 3, RequestId: "r"}
		first, err := g.sequences.NextNumbers(t.Context(), once)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := g.sequences.NextNumbers(t.Context(), once); err != nil || !proto.Equal(first, again) {
			t.Errorf("a repeated request: %v, then %v, %v", first, again, err)
		}
	})
}

func TestGatewayOtherProtocols(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		g := inFront(t, startCluster(t, 3, func(c *server.Config) { c.RedisCreate = "strict" }))
		for _, c := range []struct{ method, path, body, want string }{
			{"POST", "/v1/layouts", `{"name":"t","fields":[{"kind":"time","bits":41},{"kind":"worker","bits":10},{"kind":"sequence","bits":12}],"unitMs":"1","epochAtMs":"0"}`, `"name":"t"`},
			{"POST", "/v1/ids:generate", `{"count":3,"layout":"t"}`, `"ids":["`},
			{"POST", "/v1/ids:generate", `{"count":3,"layout":"t"}`, `"ids":["`}, // now from its buffer
			{"POST", "/v1/sequences", `{"name":"s","format":"N{seq}","mode":"strict"}`, `"name":"s"`},
			{"POST", "/seq/s?count=2&request_id=a", "", "N1\nN2\n"},
			{"POST", "/seq/s", "count=2&request_id=a", "N1\nN2\n"},
			{"GET", "/api/segment/get/s", "", "3"},
			{"GET", "/tinyid/id/nextId?bizType=s&batchSize=2", "", "[4,5]"},
			{"GET", "/api/snowflake/get/t", "", ""},
			{"POST", "/v1/sequences", `{"name":"shop.orders","mode":"relaxed"}`, `"name":"shop.orders"`},
			{"POST", "/segments/distributor/shop/orders?offset=0&step=10", "", ""},
			{"PATCH", "/segments/shop/orders?step=10", "", "10"},
			{"GET", "/tinyid/id/nextSegmentIdSimple?bizType=shop.orders", "", "10,2011,10010,1,0"},
			{"GET", "/v1/status", "", `"fsmVersion"`},
			{"GET", "/readyz", "", "ok"},
			{"GET", "/healthz", "", "ok"},
			{"GET", "/docs", "", "<html"},
			{"GET", "/openapi.json", "", `"swagger"`},
		} {
			if code, body := g.ask(c.method, c.path, c.body); code != http.StatusOK || !strings.Contains(body, c.want) {
				t.Errorf("%s %s: %d %s", c.method, c.path, code, body)
			}
		}
		all := make(seen)
		for range 20 {
			_, body := g.ask("GET", "/id?count=3", "")
			for line := range strings.FieldsSeq(body) {
				all.add(t, "/id", parseID(t, line))
			}
		}
		for _, c := range []struct{ command, want string }{
			{"PING", "+PONG"}, {"EXISTS k", ":0"}, {"INCR k", ":1"}, {"INCRBY k 5", ":6"}, {"EXISTS k", ":1"}, {"GET k", "$1"},
			{"DECR k", "-ERR"}, {"INCR k", ":7"},
		} {
			if got := g.redis(c.command); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s: %q, want %q", c.command, got, c.want)
			}
		}
		_, metrics := g.ask("GET", "/metrics", "")
		for _, line := range []string{
			"snowraft_ready 1", `snowraft_member_requests_total{code="OK",method="snowraft.v1.IdService/GenerateIds",reason=""}`,
			`snowraft_ids_issued_total{layout="default"} `,
		} {
			if !strings.Contains(metrics, line) {
				t.Errorf("/metrics lacks %s", line)
			}
		}
	})
}

// A gateway returns the errors of a member with the same text and details.
func TestGatewayPassesErrorsOn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 1)
		g, n := inFront(t, nodes), nodes[0]
		ctx := t.Context()
		for name, call := range map[string]func(snowraftv1.IdServiceClient, snowraftv1.SequenceServiceClient) error{
			"layout": func(ids snowraftv1.IdServiceClient, _ snowraftv1.SequenceServiceClient) error {
				_, err := ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Layout: "none"})
				return err
			},
			"count": func(ids snowraftv1.IdServiceClient, _ snowraftv1.SequenceServiceClient) error {
				_, err := ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 1_000_001})
				return err
			},
			"packed": func(ids snowraftv1.IdServiceClient, _ snowraftv1.SequenceServiceClient) error {
				_, err := ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 500_001, Packed: new(true)})
				return err
			},
			"sequence": func(_ snowraftv1.IdServiceClient, s snowraftv1.SequenceServiceClient) error {
				_, err := s.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "none", Count: 1})
				return err
			},
			"no count": func(_ snowraftv1.IdServiceClient, s snowraftv1.SequenceServiceClient) error {
				_, err := s.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "none"})
				return err
			},
			"request ID": func(_ snowraftv1.IdServiceClient, s snowraftv1.SequenceServiceClient) error {
				_, err := s.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "none", Count: 1, RequestId: strings.Repeat("x", 65)})
				return err
			},
			"invalid": func(_ snowraftv1.IdServiceClient, s snowraftv1.SequenceServiceClient) error {
				_, err := s.CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: ""}})
				return err
			},
			"long": func(_ snowraftv1.IdServiceClient, s snowraftv1.SequenceServiceClient) error {
				_, err := s.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: strings.Repeat("x", 65<<10)})
				return err
			},
			"negative floor": func(ids snowraftv1.IdServiceClient, _ snowraftv1.SequenceServiceClient) error {
				_, err := ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{After: -1})
				return err
			},
			"negative ID": func(ids snowraftv1.IdServiceClient, _ snowraftv1.SequenceServiceClient) error {
				_, err := ids.WhoIs(ctx, &snowraftv1.WhoIsRequest{Id: -1})
				return err
			},
			"text": func(ids snowraftv1.IdServiceClient, _ snowraftv1.SequenceServiceClient) error {
				_, err := ids.DecodeId(ctx, &snowraftv1.DecodeIdRequest{Layout: "none"})
				return err
			},
		} {
			want, got := status.Convert(call(n.ids, n.sequences)), status.Convert(call(g.ids, g.sequences))
			if want.Code() == codes.OK || !proto.Equal(want.Proto(), got.Proto()) {
				t.Errorf("%s: the gateway says %v, the member %v", name, got.Proto(), want.Proto())
			}
		}
		if code, body := g.ask("POST", "/v1/ids:generate", `{"layout":"`+strings.Repeat("x", 65<<10)+`"}`); code != http.StatusRequestEntityTooLarge {
			t.Errorf("a long body: %d %s", code, body)
		}
		if _, err := g.cluster.Leave(ctx, &snowraftv1.LeaveRequest{}); reason(err) != rpc.NotAMember {
			t.Errorf("leave: %v", err)
		}
		// The gateway must not forward a call of a member whose leader had this address before.
		forwarded := metadata.AppendToOutgoingContext(ctx, rpc.ForwardedBy, "m", rpc.ForwardedInto, "c")
		if _, err := g.layouts.ListLayouts(forwarded, &snowraftv1.ListLayoutsRequest{}); reason(err) != rpc.NotLeader {
			t.Errorf("a forwarded call: %v", err)
		}
		// A gateway in front of a gateway adds one hop.
		second := openGateway(t, g.APIAddr())
		until(t, "the second gateway is ready", func() bool { return second.Ready() == nil })
		if ids, err := second.generate(3, 0); err != nil || len(ids) != 3 {
			t.Errorf("through two gateways: %v, %v", ids, err)
		}
	})
}

// Gateways and members never issue the same ID twice.
func TestGatewaysShareNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		type source interface {
			generate(count uint32, after int64) ([]int64, error)
		}
		sources := []source{inFront(t, nodes), inFront(t, nodes[1:]), nodes[0]}
		var mu sync.Mutex
		all := make(map[int64]bool)
		var asking sync.WaitGroup
		for i := range 12 {
			asking.Go(func() {
				for k := range 100 {
					ids, err := sources[i%3].generate(uint32(k%100+1), 0)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for _, id := range ids {
						if all[id] {
							t.Errorf("ID %d twice", id)
						}
						all[id] = true
					}
					mu.Unlock()
				}
			})
		}
		asking.Wait()
	})
}
