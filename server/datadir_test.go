package server_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

var update = flag.Bool("update", false, "rewrite the data directory of this version (before its release)")

// account holds the answers of a member before its data directory was stored. The member must give the same answers afterwards.
// Messages of the API are stored as bytes, so that the rules of the API apply to their decoding as well.
type account struct {
	MemberID, ClusterID string
	ClockAtMs           int64
	IDs                 []int64            // IDs of the layout "default"
	Numbers             map[string][]int64 // numbers by sequence
	Deleted             []string           // sequences
	Requests            [][2][]byte        // NextNumbersRequest with a request ID, and its NextNumbersResponse

	Config, Layouts, Sequences []byte            // GetConfigResponse, ListLayoutsResponse, ListSequencesResponse
	Grants                     map[string][]byte // WhoIsResponse by ID; without its state
	State                      replicated
}

// A release opens the data directory of every earlier release. testdata holds one directory per release, with a snapshot and
// later log entries, of a member that crashed, and a backup of the member. The directory of the next release may be made again
// until that release, with "go test ./server -run TestOpensStoredDataDirectories -update". After the release it must not change.
func TestOpensStoredDataDirectories(t *testing.T) {
	t.Parallel()
	if *update {
		storeDataDir(t, "testdata/formats-next.zip")
	}
	stored, err := filepath.Glob("testdata/formats-*.zip")
	if err != nil || len(stored) == 0 {
		t.Fatalf("stored data directories: %q, %v", stored, err)
	}
	for _, path := range stored {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			n, a := openDataDir(t, path)
			if n.server.MemberID() != a.MemberID || n.server.ClusterID() != a.ClusterID {
				t.Errorf("member %s of cluster %s, want %s of %s", n.server.MemberID(), n.server.ClusterID(), a.MemberID, a.ClusterID)
			}
			a.State.same(t, replicatedBy(n, a.State.Removed))
			now := &account{Grants: make(map[string][]byte)}
			now.look(n, a.IDs)
			same(t, "configuration", a.Config, now.Config, &snowraftv1.GetConfigResponse{})
			same(t, "layouts", a.Layouts, now.Layouts, &snowraftv1.ListLayoutsResponse{})
			same(t, "sequences", a.Sequences, now.Sequences, &snowraftv1.ListSequencesResponse{})
			for id, grant := range a.Grants {
				same(t, "grant of ID "+id, grant, now.Grants[id], &snowraftv1.WhoIsResponse{})
			}
			a.continues(n)
		})
	}
}

// continues checks that no issued ID or number is issued again, and that repeated requests get the same answers.
func (a *account) continues(n *node) {
	t := n.t
	for _, r := range a.Requests {
		var req snowraftv1.NextNumbersRequest
		parse(t, r[0], &req)
		again, err := n.sequences.NextNumbers(t.Context(), &req)
		if err != nil {
			t.Errorf("%v repeated: %v", &req, err)
			continue
		}
		same(t, "answer to "+req.GetRequestId(), r[1], bytesOf(t, again), &snowraftv1.NextNumbersResponse{})
	}
	for name, issued := range a.Numbers {
		for range 3 {
			if next := n.next(name, 1)[0]; next <= slices.Max(issued) {
				t.Errorf("%s: %d was issued after %d", name, next, slices.Max(issued))
			}
		}
	}
	for _, name := range a.Deleted {
		if _, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1}); reason(err) != rpc.UnknownSequence {
			t.Errorf("number of the deleted %s: %v", name, err)
		}
		if _, err := n.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: strict(name)}); reason(err) != rpc.WouldRepeat {
			t.Errorf("creation of the deleted %s: %v", name, err)
		}
	}
	if id := slices.Min(n.mustGenerate(1000)); id <= slices.Max(a.IDs) {
		t.Errorf("ID %d was issued after %d", id, slices.Max(a.IDs))
	}
}

// look reads the answers that must stay the same.
func (a *account) look(n *node, ids []int64) {
	t := n.t
	config, err := n.cluster.GetConfig(t.Context(), &snowraftv1.GetConfigRequest{})
	a.Config = bytesOf(t, config, err)
	layouts, err := n.layouts.ListLayouts(t.Context(), &snowraftv1.ListLayoutsRequest{})
	a.Layouts = bytesOf(t, layouts, err)
	sequences, err := n.sequences.ListSequences(t.Context(), &snowraftv1.ListSequencesRequest{})
	for _, q := range sequences.GetSequences() {
		if q.GetMode() == snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT {
			q.Next, q.Last, q.LastAtMost, q.Remaining = nil, nil, nil, 0 // the crash made the leader forget the rest of its block
		}
	}
	a.Sequences = bytesOf(t, sequences, err)
	for _, id := range ids {
		grant, err := n.ids.WhoIs(t.Context(), &snowraftv1.WhoIsRequest{Id: id})
		grant.GetGrant().State, grant.Next = 0, nil // depend on the clock, and on what follows
		a.Grants[strconv.FormatInt(id, 10)] = bytesOf(t, grant, err)
	}
}

func same(t testing.TB, what string, want, got []byte, into proto.Message) {
	t.Helper()
	was, is := into, into.ProtoReflect().New().Interface()
	parse(t, want, was)
	parse(t, got, is)
	if !proto.Equal(was, is) {
		t.Errorf("%s: %v, want %v", what, is, was)
	}
}

func bytesOf(t testing.TB, m proto.Message, errs ...error) []byte {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err := errors.Join(append(errs, err)...); err != nil {
		t.Fatal(err)
	}
	return b
}

func parse(t testing.TB, b []byte, m proto.Message) {
	t.Helper()
	if err := proto.Unmarshal(b, m); err != nil {
		t.Fatal(err)
	}
}

// unpack returns a directory with the stored files, and their account.
func unpack(t *testing.T, path string) (dir string, a *account) {
	t.Helper()
	stored, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	dir = t.TempDir()
	if err := os.CopyFS(dir, stored); err != nil {
		t.Fatal(err)
	}
	facts, err := os.ReadFile(filepath.Join(dir, "account.json"))
	if err != nil {
		t.Fatal(err)
	}
	a = &account{}
	if err := json.Unmarshal(facts, a); err != nil {
		t.Fatal(err)
	}
	return dir, a
}

// openDataDir starts a member with a stored data directory, a minute after it was stored by the member's clock.
func openDataDir(t *testing.T, path string) (*node, *account) {
	t.Helper()
	dir, a := unpack(t, path)
	n := newNode(t, "m1", func(c *server.Config) { c.DataDir = filepath.Join(dir, "data") })
	n.setClock(time.Until(time.UnixMilli(a.ClockAtMs).Add(time.Minute)))
	n.start().untilReady()
	return n, a
}

// storeDataDir makes a data directory, and stores it with the answers of its member.
func storeDataDir(t *testing.T, path string) {
	t.Helper()
	dir := t.TempDir()
	n := newNode(t, "m1", func(c *server.Config) {
		c.DataDir, c.BootstrapExpect, c.RedisAddr = filepath.Join(dir, "data"), 1, "127.0.0.1:0"
	})
	n.start().untilReady()
	a := &account{MemberID: n.server.MemberID(), ClusterID: n.server.ClusterID(), Numbers: make(map[string][]int64), Grants: make(map[string][]byte)}
	a.live(n, "snapshot")
	if err := n.server.Member().Node().Snapshot(); err != nil {
		t.Fatal(err)
	}
	a.live(n, "log")
	a.look(n, a.IDs)
	a.State = replicatedBy(n, a.State.Removed)
	storeBackup(n, filepath.Join(dir, "backup"))
	n.crash()
	a.ClockAtMs = time.Now().UnixMilli()
	facts, err := json.MarshalIndent(a, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "account.json"), facts, 0o600); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), os.WriteFile(path, packed.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// live makes each call that a single member can serve once. The names in the calls end in tag.
func (a *account) live(n *node, tag string) {
	t := n.t
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	a.IDs = append(a.IDs, n.mustGenerate(10)...)
	layout := small("layout-" + tag)
	must(second(n.layouts.CreateLayout(ctx, &snowraftv1.CreateLayoutRequest{Layout: layout})))
	must(second(n.ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Layout: layout.GetName(), Count: 10})))
	nonce, now := bytes.Repeat([]byte{7}, 16), time.Now().UnixMilli()
	grant, err := n.workers.AcquireWorker(ctx, &snowraftv1.AcquireWorkerRequest{Layout: layout.GetName(), Holder: "embedded-" + tag, Nonce: nonce, ClockAtMs: now, WindowMs: 1000})
	must(err)
	g := grant.GetGrant()
	extended, err := n.workers.ExtendWindow(ctx, &snowraftv1.ExtendWindowRequest{Layout: layout.GetName(), Worker: g.GetWorker(), Token: g.GetToken(), Nonce: nonce,
		UntilTick: g.GetUntilTick(), ClockAtMs: now, WindowMs: 2000, ExtensionId: 17})
	must(err)
	must(second(n.workers.ReleaseWorker(ctx, &snowraftv1.ReleaseWorkerRequest{Layout: layout.GetName(), Worker: g.GetWorker(), Token: g.GetToken(), Nonce: nonce,
		UntilTick: extended.GetGrant().GetUntilTick(), NextTick: g.GetFromTick() + 5})))

	for _, s := range []*snowraftv1.Sequence{
		strict("strict-" + tag), relaxed("relaxed-" + tag), strict("deleted-" + tag),
		{Name: "daily-" + tag, Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY, TimeZone: "Asia/Shanghai", Format: "A{date:yyyyMMdd}-{seq:06}", Max: new(int64(1_000_000))},
	} {
		n.createSequence(s)
		req := &snowraftv1.NextNumbersRequest{Sequence: s.GetName(), Count: 5, RequestId: "request-" + s.GetName()}
		resp, err := n.sequences.NextNumbers(ctx, req)
		must(err)
		a.Numbers[s.GetName()] = append(values(resp), n.next(s.GetName(), 3)...)
		if !strings.HasPrefix(s.GetName(), "deleted-") {
			a.Requests = append(a.Requests, [2][]byte{bytesOf(t, req), bytesOf(t, resp)})
		}
	}
	block, err := n.sequences.AllocateBlock(ctx, &snowraftv1.AllocateBlockRequest{Sequence: "relaxed-" + tag, Count: 1000, ReturnKey: nonce})
	must(err)
	must(second(n.sequences.ReturnBlock(ctx, &snowraftv1.ReturnBlockRequest{Sequence: "relaxed-" + tag, Token: block.GetBlock().GetToken(), Unused: 900, ReturnKey: nonce})))
	must(second(n.sequences.UpdateSequence(ctx, &snowraftv1.UpdateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "relaxed-" + tag, Description: tag}})))
	must(second(n.sequences.SetNext(ctx, &snowraftv1.SetNextRequest{Sequence: "strict-" + tag, Next: 5000})))
	must(second(n.sequences.DeleteSequence(ctx, &snowraftv1.DeleteSequenceRequest{Name: "deleted-" + tag})))
	delete(a.Numbers, "deleted-"+tag)
	a.Deleted = append(a.Deleted, "deleted-"+tag)
	must(second(n.cluster.UpdateConfig(ctx, &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{
		MaxWindowMs: new(int64(60_000 + len(tag))), RedisCreate: snowraftv1.AutoCreate_AUTO_CREATE_STRICT.Enum(),
	}})))
	if got := redisLine(t, n.server.RedisAddr(), "INCR key-"+tag); got != ":1" {
		t.Fatalf("INCR: %s", got)
	}
	a.Numbers["key-"+tag] = []int64{1}
	a.State.Removed = append(a.State.Removed, rule(n, layout.GetName(), tag))
}
