package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/transport"
)

// termReply is a node's answer to a request for its term, with its delay.
type termReply struct {
	term  uint64
	after time.Duration
	err   error
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	const never = time.Hour
	for name, c := range map[string]struct {
		others []termReply
		need   int
		asked  int // greatest number of queried nodes
		ok     bool
		within time.Duration
	}{
		"alone":                            {nil, 0, 0, true, 0},
		"no voter":                         {nil, 1, 0, false, 0},
		"one of two":                       {[]termReply{{term: 5}, {term: 5}}, 1, 1, true, 0},
		"one of two that is behind":        {[]termReply{{term: 4}, {term: 5}}, 1, 1, true, 0},
		"a later term":                     {[]termReply{{term: 6}, {term: 5}}, 1, 1, false, 0},
		"a later term of two":              {[]termReply{{term: 5}, {term: 6}, {term: 5, after: time.Millisecond}, {term: 5, after: never}}, 2, 2, false, 0},
		"the first fails":                  {[]termReply{{err: broken}, {term: 5}}, 1, 2, true, 0},
		"the first is slow":                {[]termReply{{term: 5, after: never}, {term: 5}}, 1, 2, true, hedgeAfter},
		"the first is slow and later":      {[]termReply{{term: 6, after: never}, {term: 5}}, 1, 2, true, hedgeAfter},
		"the first is slow, others fail":   {[]termReply{{term: 5, after: 2 * hedgeAfter}, {err: broken}}, 1, 2, true, 2 * hedgeAfter},
		"the first is slow, another later": {[]termReply{{term: 5, after: never}, {term: 6}}, 1, 2, false, hedgeAfter},
		"the only one is slow":             {[]termReply{{term: 5, after: 2 * hedgeAfter}}, 1, 1, true, 2 * hedgeAfter},
		"the only one fails":               {[]termReply{{err: broken}}, 1, 1, false, 0},
		"the only one never answers":       {[]termReply{{after: never}}, 1, 1, false, transport.Timeout},
		"all fail":                         {[]termReply{{err: broken}, {err: broken}}, 1, 2, false, 0},
		"a minority answers":               {[]termReply{{term: 5}, {err: broken}, {err: broken}, {err: broken}}, 2, 4, false, 0},
		"a minority answers, no errors":    {[]termReply{{term: 5}, {after: never}, {after: never}, {after: never}}, 2, 4, false, transport.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), transport.Timeout)
				defer cancel()
				var ids []raft.ServerID
				for i := range c.others {
					ids = append(ids, raft.ServerID(fmt.Sprint(i)))
				}
				var asked atomic.Int64
				began := time.Now()
				_, err := new(hedges).confirm(ctx, 5, ids, c.need, func(ctx context.Context, id raft.ServerID) (uint64, error) {
					asked.Add(1)
					var i int
					fmt.Sscan(string(id), &i)
					o := c.others[i]
					wait := time.NewTimer(o.after)
					defer wait.Stop()
					select {
					case <-wait.C:
						return o.term, o.err
					case <-ctx.Done():
						return 0, ctx.Err()
					}
				})
				if (err == nil) != c.ok {
					t.Errorf("the answer is %v", err)
				}
				if took := time.Since(began); took > c.within {
					t.Errorf("Verify() took %v, want at most %v", took, c.within)
				}
				if n := int(asked.Load()); n > c.asked {
					t.Errorf("%d nodes were queried, want at most %d", n, c.asked)
				}
			})
		})
	}
}

// Raft adopts a later term, and may vote in it, before the node learns that it lost leadership. The node's own answer is then
// that there is a later term.
func TestVerifyCountsOwnTerm(t *testing.T) {
	t.Parallel()
	mem := raft.NewInmemStore()
	n := openAlone(t, mem, mem)
	untilLeader(t, n)
	term := n.LeadingTerm()
	if err := n.Verify(t.Context(), term); err != nil {
		t.Errorf("Verify() = %v in the term that the node leads in", err)
	}
	n.leads.Store(term - 1) // state before follow learns of the end
	if err := n.Verify(t.Context(), term-1); !errors.Is(err, ErrNotLeader) {
		t.Errorf("Verify() = %v of a leader that has seen a later term, want ErrNotLeader", err)
	}
	if got, ok := n.termIfOpen(); got != term || !ok {
		t.Errorf("termIfOpen() = %d, %t, want %d", got, ok, term)
	}
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
