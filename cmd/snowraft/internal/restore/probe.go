package restore

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/snowraft/snowraft/cluster/transport"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// probeTimeout is the time that a member of the old cluster has to answer.
const probeTimeout = 2 * time.Second

// probe fails if a member of the old cluster answers. It warns about a program at the address of an old member that could be
// the old member, and about another member there, which may be in a cluster that was restored since.
func probe(ctx context.Context, a *cli.App, h *commandv1.BackupHeader) error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	found := map[transport.Presence][]string{}
	for _, m := range h.GetMembers() {
		wg.Go(func() {
			presence := transport.CheckPresence(ctx, m.GetRaftAddress(), m.GetId(), probeTimeout)
			mu.Lock()
			defer mu.Unlock()
			found[presence] = append(found[presence], cmp.Or(m.GetName(), m.GetId())+" at "+m.GetRaftAddress())
		})
	}
	wg.Wait()
	if alive := found[transport.Present]; len(alive) > 0 {
		return fmt.Errorf("old cluster %s still runs: %s; stop every member permanently, then restore again", h.GetClusterId(), strings.Join(alive, ", "))
	}
	if unclear := found[transport.Unclear]; len(unclear) > 0 {
		a.Warn("another program answers at the address of %s; make sure that it is not the old member", strings.Join(unclear, ", "))
	}
	if other := found[transport.Other]; len(other) > 0 {
		a.Warn("another member answers at the address of %s; if its cluster was restored from the old one, restore a backup of that cluster instead, or stop it permanently: "+
			"two clusters from one backup stop each other", strings.Join(other, ", "))
	}
	return nil
}
