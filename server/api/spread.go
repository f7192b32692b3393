package api

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/snowraft/snowraft/cluster"
	peerv1 "github.com/snowraft/snowraft/proto/peer/v1"
)

// spreadTimeout bounds the time that a change waits for other members to apply it.
const spreadTimeout = 2 * time.Second

// spread waits until all members that are alive have applied the log up to an index, at most for spreadTimeout. It returns the
// names of the members that did not acknowledge, including members that are not alive.
func (s *Services) spread(ctx context.Context, index uint64) []string {
	ctx, cancel := context.WithTimeout(ctx, spreadTimeout)
	defer cancel()
	var mu sync.Mutex
	var unreached []string
	var wg sync.WaitGroup
	for _, m := range s.Member.Node().Members() {
		if m.ID == s.Member.Node().ID() {
			continue
		}
		wg.Go(func() {
			if s.await(ctx, m, index) != nil {
				mu.Lock()
				unreached = append(unreached, cmp.Or(m.Name, m.ID))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(unreached)
	return unreached
}

func (s *Services) await(ctx context.Context, m cluster.Member, index uint64) error {
	if !m.Alive {
		return cluster.ErrNotAlive
	}
	return s.Invoker.Invoke(ctx, m, peerv1.PeerService_AwaitIndex_FullMethodName,
		&peerv1.AwaitIndexRequest{Index: index}, new(peerv1.AwaitIndexResponse))
}
