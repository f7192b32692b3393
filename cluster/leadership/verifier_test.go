package leadership

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
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
				_, err := new(Verifier).Confirm(ctx, 5, ids, c.need, func(ctx context.Context, id raft.ServerID) (uint64, error) {
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

// TestVerificationNeedsAMajorityOfVoters tries each cluster of up to five voters and three nonvoters, with each set of servers
// that answer that there is no later term. A leader must be confirmed if and only if the set, with the leader, has a majority
// of the voters.
func TestVerificationNeedsAMajorityOfVoters(t *testing.T) {
	for voters := 1; voters <= 5; voters++ {
		for all := voters; all <= voters+3; all++ {
			var servers []raft.Server
			for i := range all {
				s := raft.Server{ID: raft.ServerID(fmt.Sprint(i))}
				if i >= voters {
					s.Suffrage = raft.Nonvoter
				}
				servers = append(servers, s)
			}
			for answering := range 1 << all {
				var err error
				synctest.Test(t, func(t *testing.T) {
					others, need := MajorityWithout(servers, "0")
					_, err = new(Verifier).Confirm(t.Context(), 5, others, need, func(_ context.Context, id raft.ServerID) (uint64, error) {
						var i int
						fmt.Sscan(string(id), &i)
						if answering>>i&1 == 0 {
							return 0, errors.ErrUnsupported
						}
						return 5, nil
					})
				})
				of := bits.OnesCount(uint(answering|1) & (1<<voters - 1))
				if (err == nil) != (of > voters/2) {
					t.Errorf("of %d voters and %d nonvoters, with the answers %b, a leader is confirmed: %t", voters, all-voters, answering|1, err == nil)
				}
			}
		}
	}
}

func TestVanishedAcknowledgements(t *testing.T) {
	t.Parallel()
	var r Replication
	answer := func(term, prev uint64, had uint64, success bool) uint64 {
		return r.Observe("b", &raft.AppendEntriesRequest{Term: term, PrevLogEntry: prev, Entries: []*raft.Log{{}}},
			&raft.AppendEntriesResponse{Term: term, LastLog: had, Success: success}, 0)
	}
	for i, c := range []struct {
		term, prev, had uint64
		success         bool
		lost            uint64
	}{
		{3, 9, 9, true, 0},
		{3, 10, 10, true, 0},
		{3, 11, 4, false, 7}, // had acknowledged 11
		{3, 4, 4, true, 0},   // said once
		{4, 9, 2, false, 0},  // a later term: it may have removed entries for another leader
	} {
		if lost := answer(c.term, c.prev, c.had, c.success); lost != c.lost {
			t.Errorf("answer %d: %d entries lost, want %d", i, lost, c.lost)
		}
	}
}
