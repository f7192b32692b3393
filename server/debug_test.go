package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// debug returns the files that a member sends for a debug archive.
func (n *node) debug(req *snowraftv1.DebugRequest) (map[string][]byte, error) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	stream, err := snowraftv1.NewOperationsServiceClient(n.conn).Debug(ctx, req)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return files, err
		}
		files[piece.GetFile()] = append(files[piece.GetFile()], piece.GetData()...)
	}
}

// inflated returns the joined content of files, with profiles uncompressed.
func inflated(t *testing.T, files map[string][]byte) string {
	t.Helper()
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := files[name]
		if strings.HasSuffix(name, ".pprof") {
			gz, err := gzip.NewReader(bytes.NewReader(content))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if content, err = io.ReadAll(gz); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		_, _ = all.Write(content)
	}
	return all.String()
}

func TestDebugSendsEveryFileWithoutNames(t *testing.T) {
	// Not parallel: another test must not profile at the same time.
	n := newNode(t, "a", func(c *server.Config) { c.RedisCreate = "off" })
	n.cfg.BootstrapExpect = 1
	n.start()
	n.untilReady()
	const name, missing = "sequence-of-a-customer", "another-of-a-customer"
	if _, err := n.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: name}}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.sequences.DeleteSequence(t.Context(), &snowraftv1.DeleteSequenceRequest{Name: missing}); err == nil {
		t.Fatal("deleted a sequence that does not exist")
	}
	files, err := n.debug(&snowraftv1.DebugRequest{Seconds: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"about.json", "clock.json", "cpu.pprof", "disk.json", "goroutines.txt", "heap.pprof", "members.json",
		"metrics-1.txt", "metrics-2.txt", "raft.json", "settings.json", "status.json"}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("files %v, want %v; problems: %s", got, want, files["problems.txt"])
	}
	all := inflated(t, files)
	for _, hidden := range []string{name, missing, "a-customer"} {
		if strings.Contains(all, hidden) {
			t.Errorf("the archive has %q", hidden)
		}
	}
	for _, shown := range []string{
		"SequenceService/CreateSequence", `"clusterId": "` + n.server.ClusterID(), "snowraft_ready 1", "raft.db",
		`"data-dir": "` + n.cfg.DataDir, `"state": "Leader"`, "goroutine profile:",
	} {
		if !strings.Contains(all, shown) {
			t.Errorf("the archive lacks %q", shown)
		}
	}
}

func TestDebugRefusals(t *testing.T) {
	t.Parallel()
	n := newNode(t, "a")
	n.start()
	for name, req := range map[string]*snowraftv1.DebugRequest{
		"no time":  {},
		"too long": {Seconds: 61},
	} {
		if _, err := n.debug(req); reason(err) != rpc.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, limit := range map[string]time.Duration{"no deadline": 0, "late deadline": time.Hour} {
		ctx := t.Context()
		if limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
		stream, err := snowraftv1.NewOperationsServiceClient(n.conn).Debug(ctx, &snowraftv1.DebugRequest{Seconds: 1})
		if err == nil {
			_, err = stream.Recv()
		}
		if reason(err) != rpc.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMemberMakesOneDebugArchiveAtATime(t *testing.T) {
	t.Parallel()
	n := newNode(t, "a")
	n.start()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	first, err := snowraftv1.NewOperationsServiceClient(n.conn).Debug(ctx, &snowraftv1.DebugRequest{Seconds: 60})
	if err != nil {
		t.Fatal(err)
	}
	if piece, err := first.Recv(); err != nil || piece.GetFile() != "about.json" {
		t.Fatal(piece, err)
	}
	if _, err := n.debug(&snowraftv1.DebugRequest{Seconds: 1}); reason(err) != rpc.Overloaded {
		t.Errorf("a second archive: %v, want %s", err, rpc.Overloaded)
	}
	cancel() // ends the first request
	until(t, "another archive is made", func() bool {
		_, err := n.debug(&snowraftv1.DebugRequest{Seconds: 1})
		return err == nil
	})
}
