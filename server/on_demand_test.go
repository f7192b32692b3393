package server_test

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/rpc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

func onDemand(name string) *snowraftv1.CreateSequenceRequest {
	return &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: name}, OnDemand: true}
}

func TestCreateOnDemand(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		n := except(nodes, leader(t, nodes))[0]
		_, err := n.sequences.CreateSequence(t.Context(), onDemand("k"))
		if reason(err) != rpc.RedisCreateOff || status.Code(err) != codes.FailedPrecondition {
			t.Errorf("with redis_create off: %v", err)
		}
		if _, err := n.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: "k"}); reason(err) != rpc.UnknownSequence {
			t.Errorf("GetSequence() after the refusal = %v", err)
		}
		n.createSequence(relaxed("old"))
		configure(t, n, snowraftv1.AutoCreate_AUTO_CREATE_STRICT)
		for name, mode := range map[string]snowraftv1.SequenceMode{
			"k":   snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT,
			"old": snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED,
		} {
			resp, err := n.sequences.CreateSequence(t.Context(), onDemand(name))
			if s := resp.GetSequence(); err != nil || s.GetName() != name || s.GetMode() != mode || s.GetStart() != 1 {
				t.Errorf("CreateSequence(%q) = %v, %v, want mode %v", name, resp, err, mode)
			}
		}
		for what, spoil := range map[string]func(*snowraftv1.CreateSequenceRequest){
			"force": func(r *snowraftv1.CreateSequenceRequest) { r.Force = true },
			"mode": func(r *snowraftv1.CreateSequenceRequest) {
				r.Sequence.Mode = snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT
			},
			"start": func(r *snowraftv1.CreateSequenceRequest) { r.Sequence.Start = new(int64(1)) },
			"step":  func(r *snowraftv1.CreateSequenceRequest) { r.Sequence.Increment = new(int64(2)) },
			"reset": func(r *snowraftv1.CreateSequenceRequest) {
				r.Sequence.Reset_ = snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY
			},
			"format":   func(r *snowraftv1.CreateSequenceRequest) { r.Sequence.Format = "N{seq}" },
			"output":   func(r *snowraftv1.CreateSequenceRequest) { r.Sequence.Generation = 1 },
			"nothing":  func(r *snowraftv1.CreateSequenceRequest) { r.Sequence = nil },
			"no name":  func(r *snowraftv1.CreateSequenceRequest) { r.Sequence.Name = "" },
			"bad name": func(r *snowraftv1.CreateSequenceRequest) { r.Sequence.Name = "$k" },
		} {
			req := onDemand("other")
			spoil(req)
			if resp, err := n.sequences.CreateSequence(t.Context(), req); reason(err) != rpc.InvalidArgument {
				t.Errorf("on demand with %s: %v, %v", what, resp, err)
			}
		}
	})
}

// A member that has not applied a change of the configuration does not create sequences that the change forbids.
func TestIncrementObeysTheLog(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		g := &gate{Network: networkOf(t)}
		nodes := startCluster(t, 3, g.members, func(c *server.Config) { c.RedisCreate = "strict" })
		leads := leader(t, nodes)
		behind := except(nodes, leads)[0]
		if created, err := behind.server.Create(t.Context(), "before"); err != nil || !created {
			t.Fatalf("Create() = %v, %v", created, err)
		}
		open := g.close(t, behind.server.RaftAddr())
		if got := configure(t, leads, snowraftv1.AutoCreate_AUTO_CREATE_OFF); !slices.Equal(got, []string{behind.cfg.Name}) {
			t.Fatalf("unreached members: %q, want %s", got, behind.cfg.Name)
		}
		if got := behind.server.Member().State().ConfigValue().GetRedisCreate(); got != commandv1.AutoCreate_AUTO_CREATE_STRICT {
			t.Fatalf("redis_create of the replica behind is %v", got)
		}
		for key, want := range map[string]bool{"after": false, "before": true} {
			waited := time.AfterFunc(30*time.Second, open) // a call that waits for an entry returns then
			if created, err := behind.server.Create(t.Context(), key); err != nil || created != want {
				t.Errorf("Create(%s) = %v, %v, want %v", key, created, err, want)
			}
			if !waited.Stop() {
				t.Errorf("Create(%s) waits for an entry", key)
			}
		}
		if _, ok := leads.server.Member().State().Sequence("after"); ok {
			t.Error("the sequence was created")
		}
	})
}

// A member that has not applied a change of the configuration yet creates the sequences that the change permits.
func TestIncrementCreatesOnceItIsPermitted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		g := &gate{Network: networkOf(t)}
		nodes := startCluster(t, 3, g.members)
		leads := leader(t, nodes)
		behind := except(nodes, leads)[0]
		if created, err := behind.server.Create(t.Context(), "k"); err != nil || created {
			t.Fatalf("with redis_create off: Create() = %v, %v", created, err)
		}
		open := g.close(t, behind.server.RaftAddr())
		configure(t, leads, snowraftv1.AutoCreate_AUTO_CREATE_STRICT)
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			if created, err := behind.server.Create(t.Context(), "k"); err != nil || !created {
				t.Errorf("Create() = %v, %v, want true", created, err)
			}
		}()
		until(t, "the leader has the sequence", func() bool {
			_, ok := leads.server.Member().State().Sequence("k")
			return ok
		})
		select {
		case <-answered:
			t.Error("Create() returns before this member has the sequence")
		default:
		}
		open()
		<-answered
	})
}
