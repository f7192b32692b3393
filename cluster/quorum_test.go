package cluster

import "testing"

func TestQuorumCountsLiveVoters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		voters, alive, nonvoters int
		needed, mayFail          int
	}{
		{voters: 1, alive: 1, needed: 1, mayFail: 0},
		{voters: 2, alive: 2, needed: 2, mayFail: 0},
		{voters: 3, alive: 3, nonvoters: 2, needed: 2, mayFail: 1},
		{voters: 3, alive: 2, needed: 2, mayFail: 0},
		{voters: 3, alive: 1, nonvoters: 5, needed: 2, mayFail: 0},
		{voters: 4, alive: 4, needed: 3, mayFail: 1},
		{voters: 5, alive: 5, needed: 3, mayFail: 2},
		{nonvoters: 3, needed: 1},
	} {
		var members []Member
		for i := range c.voters {
			members = append(members, Member{Voter: true, Alive: i < c.alive})
		}
		if c.alive < c.voters { // gossip still reaches it
			members[c.voters-1] = Member{Voter: true, Alive: true, Stalled: c.nonvoters == 0, Halted: c.nonvoters > 0}
		}
		for range c.nonvoters {
			members = append(members, Member{Alive: true})
		}
		q := QuorumOf(members)
		if q.Voters != c.voters || q.Alive != c.alive || q.Needed() != c.needed || q.MayFail() != c.mayFail {
			t.Errorf("%+v: QuorumOf() = %+v, needed %d, may fail %d", c, q, q.Needed(), q.MayFail())
		}
	}
}
