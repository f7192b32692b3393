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
	return s.callOthers(s.Member.Node().Members(), func(m cluster.Member) error {
		return s.Invoker.Invoke(ctx, m, peerv1.PeerService_AwaitIndex_FullMethodName,
			&peerv1.AwaitIndexRequest{Index: index}, new(peerv1.AwaitIndexResponse))
	})
}

// callOthers makes a call to each of the members at the same time, except this one. It returns the sorted names of the members
// whose call failed, and of those that are not alive, which get none.
func (s *Services) callOthers(members []cluster.Member, call func(m cluster.Member) error) (unreached []string) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, m := range members {
		if m.ID == s.Member.Node().ID() {
			continue
		}
		wg.Go(func() {
			if !m.Alive || call(m) != nil {
				mu.Lock()
				defer mu.Unlock()
				unreached = append(unreached, cmp.Or(m.Name, m.ID))
			}
		})
	}
	wg.Wait()
	slices.Sort(unreached)
	return unreached
}
