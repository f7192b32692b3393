package server_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/rpc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// logged is a line of the audit log in the log.
type logged struct {
	Actor, Address, Method, Resource, Before, After, Outcome string
	Index                                                    uint64
}

// auditIn returns the lines with the outcome "done" by method, without the service. A call that a former leader rejected before
// another member did it also has a line with another outcome.
func auditIn(t *testing.T, log *lockedBuilder) map[string][]logged {
	t.Helper()
	found := make(map[string][]logged)
	for line := range strings.Lines(log.String()) {
		if !strings.Contains(line, `"msg":"call audited"`) {
			continue // may have other kinds of values
		}
		var l logged
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Outcome == "done" {
			_, method, _ := strings.Cut(l.Method, "/")
			found[method] = append(found[method], l)
		}
	}
	return found
}

// Without a secret and an audit file, the log has the administrative calls of every protocol, both of the member that takes
// them and of the leader. The commands say that their callers are unknown.
func TestAuditLogOfOpenCluster(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		log := &lockedBuilder{}
		nodes := startCluster(t, 3, func(cfg *server.Config) {
			cfg.Logger, cfg.RedisAddr = slog.New(slog.NewJSONHandler(log, nil)), "127.0.0.1:0"
		})
		first := leader(t, nodes)
		taker := follower(t, nodes)
		ctx := t.Context()
		configure(t, taker, snowraftv1.AutoCreate_AUTO_CREATE_STRICT)
		if _, err := taker.sequences.CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{Sequence: strict("orders")}); err != nil {
			t.Fatal(err)
		}
		if status, body := ask(t, browser(t), http.MethodDelete, "http://"+taker.server.HTTPAddr()+"/v1/sequences/orders", ""); status != http.StatusOK {
			t.Fatalf("DELETE: %d %s", status, body)
		}
		if got := redisLine(t, taker.server.RedisAddr(), "INCR made"); got != ":1" {
			t.Fatalf("INCR: %q", got)
		}
		if _, err := taker.cluster.ResetObservedClock(ctx, &snowraftv1.ResetObservedClockRequest{}); err != nil {
			t.Fatal(err)
		}
		heir := nodes[0]
		for _, n := range nodes {
			if n != first && n != taker {
				heir = n
			}
		}
		if _, err := first.cluster.TransferLeadership(ctx, &snowraftv1.TransferLeadershipRequest{Member: heir.cfg.Name}); err != nil {
			t.Fatal(err)
		}
		if _, err := taker.cluster.Leave(ctx, &snowraftv1.LeaveRequest{}); err != nil {
			t.Fatal(err)
		}

		found := auditIn(t, log)
		created := found["CreateSequence"]
		found["INCR"], found["CreateSequence"] = created[2:], created[:2]
		found["Leave"] = append(found["Leave"], found["RemoveMember"]...)
		for method, want := range map[string]struct {
			lines                   int
			resource, before, after string
		}{
			"UpdateConfig":       {2, "", `"redisCreate":"off"`, `"redisCreate":"strict"`},
			"CreateSequence":     {2, "orders", "", `"name":"orders"`},
			"DeleteSequence":     {2, "orders", `"name":"orders"`, ""},
			"INCR":               {2, "made", "", `"name":"made"`},
			"ResetObservedClock": {2, "", "observedClockAtMs", "observedClockAtMs"},
			"TransferLeadership": {1, heir.cfg.Name, first.server.MemberID(), heir.server.MemberID()},
			"Leave":              {2, "", taker.server.MemberID(), ""},
		} {
			lines := found[method]
			if len(lines) != want.lines {
				t.Errorf("%s: %d lines, want %d: %+v", method, len(lines), want.lines, lines)
				continue
			}
			for _, l := range lines {
				if l.Actor != "open" || !strings.HasPrefix(l.Address, "127.0.0.1:") ||
					want.resource != "" && l.Resource != want.resource || !strings.Contains(l.Before, want.before) || !strings.Contains(l.After, want.after) {
					t.Errorf("%s: %+v, want %+v", method, l, want)
				}
				if l.Index != lines[0].Index || l.Index == 0 && method != "TransferLeadership" {
					t.Errorf("%s: index %d, want that of the other line, %d", method, l.Index, lines[0].Index)
				}
			}
		}
		heir.stop()
		wantOpenActors(t, heir, found["INCR"][0].Index, found["CreateSequence"][0].Index, found["DeleteSequence"][0].Index)
	})
}

// A caller that names a member as the caller of its own call looks like any other caller, in the audit log and in the Raft log.
func TestMembersNameIsNoActorInOpenCluster(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		log := &lockedBuilder{}
		nodes := startCluster(t, 1, func(cfg *server.Config) { cfg.Logger = slog.New(slog.NewJSONHandler(log, nil)) })
		n := leader(t, nodes)
		ctx := metadata.AppendToOutgoingContext(t.Context(), rpc.ForwardedBy, n.server.MemberID(), rpc.ForwardedInto, n.server.ClusterID())
		if _, err := n.sequences.CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{Sequence: strict("orders")}); err != nil {
			t.Fatal(err)
		}
		lines := auditIn(t, log)["CreateSequence"]
		if len(lines) != 1 || lines[0].Actor != "open" {
			t.Fatalf("audited %+v, want one line of the actor open", lines)
		}
		n.stop()
		wantOpenActors(t, n, lines[0].Index)
	})
}

// wantOpenActors reads commands in the log of a stopped member.
func wantOpenActors(t *testing.T, n *node, indices ...uint64) {
	t.Helper()
	commands := commandsOf(t, n)
	for _, index := range indices {
		if actor := commands[index].GetActor(); actor.GetKind() != commandv1.ActorKind_ACTOR_KIND_OPEN {
			t.Errorf("the command at %d has the actor %v; want one of an open cluster", index, actor)
		}
	}
}

// commandsOf returns the commands in the log of a stopped member, by index.
func commandsOf(t *testing.T, n *node) map[uint64]*commandv1.Command {
	t.Helper()
	commands := make(map[uint64]*commandv1.Command)
	for i, entry := range logOf(t, n) {
		if entry.Type != raft.LogCommand {
			continue
		}
		command, err := fsm.Decode(entry.Data)
		if err != nil {
			t.Fatal(err)
		}
		commands[uint64(i)+1] = command
	}
	return commands
}

// logOf returns the log of a stopped member, which begins with the entry of index 1.
func logOf(t *testing.T, n *node) []raft.Log {
	t.Helper()
	id, err := storage.OpenIdentity(n.cfg.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	defer id.Close()
	store, err := storage.Open(id, slog.New(slog.DiscardHandler), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	last, err := store.Logs.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	entries := make([]raft.Log, last)
	for i := range entries {
		if err := store.Logs.GetLog(uint64(i)+1, &entries[i]); err != nil {
			t.Fatal(err)
		}
	}
	return entries
}
