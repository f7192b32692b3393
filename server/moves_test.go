package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// A sequence that moved to another system issues no number through any protocol, at any member or a gateway, whoever leads, although
// members hold blocks of it. It continues beyond the numbers of both systems.
func TestMovedSequencesRefuseEveryProtocol(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3, func(c *server.Config) { c.RedisAddr, c.HTTPAddr = "127.0.0.1:0", "127.0.0.1:0" })
		for _, n := range nodes {
			n.untilNewest()
		}
		g := inFront(t, nodes)
		follower := except(nodes, leader(t, nodes))[0]
		names := []string{"strict", "relaxed"}
		for _, name := range names {
			mode := snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT
			if name == "relaxed" {
				mode = snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED
			}
			follower.createSequence(&snowraftv1.Sequence{Name: name, Mode: mode})
		}
		last := map[string]int64{}
		for _, n := range nodes {
			for _, name := range names {
				resp, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: 7})
				if err != nil {
					t.Fatal(err)
				}
				last[name] = max(last[name], resp.GetFirst()+6)
			}
		}
		next := map[string]int64{}
		for _, name := range names {
			resp, err := follower.sequences.MoveSequence(t.Context(), &snowraftv1.MoveSequenceRequest{Sequence: name})
			if err != nil || !resp.GetSequence().GetMoved() || resp.GetSequence().GetNext() <= last[name] || len(resp.GetUnreachedMembers()) > 0 {
				t.Fatalf("MoveSequence(%s) = %v, %v, want a next number beyond %d", name, resp, err, last[name])
			}
			next[name] = resp.GetSequence().GetNext()
		}
		refuse := func() {
			for _, name := range names {
				for _, n := range nodes {
					refuseMoved(t, n.conn, n.server.HTTPAddr(), n.server.RedisAddr(), name)
				}
				refuseMoved(t, g.conn, g.HTTPAddr(), g.RedisAddr(), name)
			}
		}
		refuse()
		if _, err := snowraftv1.NewClusterServiceClient(follower.conn).TransferLeadership(t.Context(), &snowraftv1.TransferLeadershipRequest{}); err != nil {
			t.Fatal(err)
		}
		until(t, "a new leader", func() bool { return follower.status().GetLeaderId() != "" })
		refuse()
		for _, name := range names {
			after := next[name] + 5
			if _, err := follower.sequences.ResumeSequence(t.Context(), &snowraftv1.ResumeSequenceRequest{Sequence: name, After: &after}); err != nil {
				t.Fatal(err)
			}
			for _, n := range nodes {
				resp, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1})
				if err != nil || resp.GetFirst() <= after {
					t.Errorf("%s at %s: %v, %v, want numbers beyond %d", name, n.cfg.Name, resp, err, after)
				}
			}
		}
	})
}

// refuseMoved requests numbers of a sequence that moved, over every protocol of a process.
func refuseMoved(t *testing.T, conn *grpc.ClientConn, web, redis, name string) {
	t.Helper()
	ctx, q := t.Context(), snowraftv1.NewSequenceServiceClient(conn)
	for what, err := range map[string]error{
		"NextNumbers":            failureOf(q.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1})),
		"NextNumbers with an ID": failureOf(q.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1, RequestId: "r"})),
		"AllocateBlock":          failureOf(q.AllocateBlock(ctx, &snowraftv1.AllocateBlockRequest{Sequence: name, Count: 1})),
		"GetLast":                failureOf(q.GetLast(ctx, &snowraftv1.GetLastRequest{Sequence: name})),
		"SetNext":                failureOf(q.SetNext(ctx, &snowraftv1.SetNextRequest{Sequence: name, Next: 1, Force: true})),
		"DeleteSequence":         failureOf(q.DeleteSequence(ctx, &snowraftv1.DeleteSequenceRequest{Name: name})),
		"CreateSequence":         failureOf(q.CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: name}, Force: true})),
	} {
		if got := reason(err); got != rpc.SequenceMoved && (what != "AllocateBlock" || got != rpc.StrictSequence) {
			t.Errorf("%s of %s: %v, want %s", what, name, err, rpc.SequenceMoved)
		}
	}
	stream, err := q.StreamNumbers(ctx)
	if err != nil {
		t.Fatal(err)
	}
	asked := &snowraftv1.StreamNumbersRequest{Id: 1, Request: &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1}}
	if err := stream.Send(asked); err != nil {
		t.Fatal(err)
	}
	if resp, err := stream.Recv(); err != nil || !strings.Contains(resp.GetError().GetMessage(), "moved to another system") {
		t.Errorf("StreamNumbers of %s: %v, %v", name, resp, err)
	}
	_ = stream.CloseSend()
	for _, c := range []struct{ method, path, want string }{
		{http.MethodPost, "/seq/%s", "moved to another system"},
		{http.MethodGet, "/v1/sequences:last?sequence=%s", "moved to another system"},
		{http.MethodGet, "/tinyid/id/nextId?bizType=%s", "moved to another system"},
		{http.MethodGet, "/tinyid/id/nextSegmentId?bizType=%s", "the sequence is strict"},
		{http.MethodGet, "/tinyid/id/nextIdSimple?bizType=%s", ""}, // an empty answer, tinyid's failure
		{http.MethodGet, "/api/segment/get/%s", "status=EXCEPTION"},
	} {
		path := fmt.Sprintf(c.path, name)
		if name == "relaxed" && c.want == "the sequence is strict" {
			c.want = "moved to another system"
		}
		if status, body := ask(t, browser(t), c.method, "http://"+web+path, ""); !strings.Contains(body, c.want) || c.want == "" && body != "" {
			t.Errorf("%s %s: %d, %s, want %s", c.method, path, status, body, c.want)
		}
	}
	for _, command := range []string{"INCR", "GET", "SNOWRAFT.NEXT"} {
		if got := redisLine(t, redis, command+" "+name); !strings.HasPrefix(got, "-ERR") || !strings.Contains(got, "moved to another system") {
			t.Errorf("%s %s: %s", command, name, got)
		}
	}
}
