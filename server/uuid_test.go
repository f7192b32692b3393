package server_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// uuids requests UUIDs and returns the IDs in them.
func (n *node) uuids(t *testing.T, l *snowflake.Layout, count uint32) []int64 {
	resp, err := n.ids.GenerateUuids(t.Context(), &snowraftv1.GenerateUuidsRequest{Layout: l.Name(), Count: count})
	if err != nil {
		t.Errorf("%s: %v", n.cfg.Name, err)
	}
	if !slices.IsSorted(resp.GetUuids()) {
		t.Errorf("%s: the UUIDs of one lane do not ascend", n.cfg.Name)
	}
	tag := snowflake.NewUUIDTag(n.server.ClusterID(), l.Name())
	var ids []int64
	for _, text := range resp.GetUuids() {
		u, err := snowflake.ParseUUID(text)
		if err != nil {
			t.Error(err)
			return nil
		}
		id, err := l.FromUUID(u)
		if err != nil {
			t.Error(err)
			return nil
		}
		if again, err := l.UUID(id, tag); err != nil || again != u {
			t.Errorf("%s: ID %d is %v, issued as %v: %v", n.cfg.Name, id, again, u, err)
			return nil
		}
		ids = append(ids, int64(id))
	}
	return ids
}

// UUIDs of all members are unique, and no UUID contains an ID that was issued as a number.
func TestUUIDsOfAllMembersDiffer(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		jssafe, _ := snowflake.Preset("jssafe")
		if _, err := nodes[0].layouts.CreateLayout(t.Context(), &snowraftv1.CreateLayoutRequest{Layout: rpc.Layout(jssafe.Spec())}); err != nil {
			t.Fatal(err)
		}
		for _, l := range []*snowflake.Layout{snowflake.Default(), jssafe} {
			var mu sync.Mutex
			var all sync.WaitGroup
			issued := make(map[string][]int64) // IDs by member
			for _, n := range nodes {
				for range 4 {
					all.Go(func() {
						for range 5 {
							ids := n.uuids(t, l, 500)
							mu.Lock()
							issued[n.cfg.Name] = append(issued[n.cfg.Name], ids...)
							mu.Unlock()
						}
					})
				}
			}
			all.Wait()
			found := make(seen)
			for name, ids := range issued {
				found.add(t, name, ids...)
			}
			if len(found) != 3*4*5*500 {
				t.Errorf("%s: %d different UUIDs, want %d", l.Name(), len(found), 3*4*5*500)
			}
			if l == snowflake.Default() {
				for _, n := range nodes {
					found.add(t, n.cfg.Name, n.mustGenerate(100)...)
				}
			}
		}
	})
}

func TestUUIDCounts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		for count, want := range map[uint32]int{0: 1, 1: 1, 100_000: 100_000} {
			resp, err := n.ids.GenerateUuids(t.Context(), &snowraftv1.GenerateUuidsRequest{Count: count})
			if err != nil || len(resp.GetUuids()) != want {
				t.Fatalf("%d UUIDs instead of %d: %v", len(resp.GetUuids()), want, err)
			}
			u, err := snowflake.ParseUUID(resp.GetUuids()[0])
			if err != nil {
				t.Fatal(err)
			}
			id, err := snowflake.Default().FromUUID(u)
			if err != nil {
				t.Fatal(err)
			}
			if age := time.Since(snowflake.Default().TimeOf(id)); age < -time.Second || age > 10*time.Second {
				t.Errorf("a UUID of now is %v old", age)
			}
		}
		for _, c := range []struct {
			req    *snowraftv1.GenerateUuidsRequest
			code   codes.Code
			reason string
		}{
			{&snowraftv1.GenerateUuidsRequest{Count: 100_001}, codes.InvalidArgument, rpc.InvalidArgument},
			{&snowraftv1.GenerateUuidsRequest{Layout: "nope"}, codes.NotFound, rpc.UnknownLayout},
		} {
			if _, err := n.ids.GenerateUuids(t.Context(), c.req); status.Code(err) != c.code || reason(err) != c.reason {
				t.Errorf("%v: %v", c.req, err)
			}
		}
	})
}
