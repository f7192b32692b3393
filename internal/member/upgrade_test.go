package member

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
)

func server(name string, commands uint32, change ...func(*cluster.Member)) cluster.Member {
	s := cluster.Member{ID: name, Name: name, Voter: true, Alive: true, Commands: commands, Starts: 1}
	for _, c := range change {
		c(&s)
	}
	return s
}

func dead(s *cluster.Member)     { s.Alive = false }
func nonvoter(s *cluster.Member) { s.Voter = false }

func TestUpgradeBlockers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		servers  []cluster.Member
		next     uint32
		blockers []string
	}{
		"no member knows more":    {[]cluster.Member{server("a", 3), server("b", 3), server("c", 3, dead)}, 3, nil},
		"only a dead one does":    {[]cluster.Member{server("a", 3), server("b", 4, dead)}, 3, nil},
		"all do":                  {[]cluster.Member{server("a", 4), server("b", 4)}, 4, nil},
		"some know even more":     {[]cluster.Member{server("a", 6), server("b", 5)}, 5, nil},
		"an old one":              {[]cluster.Member{server("a", 4), server("b", 3)}, 4, []string{"b"}},
		"an older one":            {[]cluster.Member{server("a", 4), server("b", 1)}, 4, []string{"b"}},
		"an old nonvoter":         {[]cluster.Member{server("a", 4), server("b", 3, nonvoter)}, 4, []string{"b"}},
		"a dead one that does":    {[]cluster.Member{server("a", 4), server("b", 4, dead)}, 4, []string{"b"}},
		"one that is not known":   {[]cluster.Member{server("a", 4), server("b", 0)}, 4, []string{"b"}},
		"several in the way":      {[]cluster.Member{server("a", 9), server("b", 0), server("c", 5), server("d", 3)}, 5, []string{"b", "d"}},
		"a dead one that is old":  {[]cluster.Member{server("a", 4), server("b", 3, dead)}, 4, []string{"b"}},
		"a dead nonvoter as well": {[]cluster.Member{server("a", 4), server("b", 4, dead, nonvoter)}, 4, []string{"b"}},
	} {
		u := upgradeOf(3, c.servers)
		var blockers []string
		for _, b := range u.Blockers {
			blockers = append(blockers, b.Name)
		}
		if u.Used != 3 || u.Next != c.next || !slices.Equal(blockers, c.blockers) {
			t.Errorf("%s: %+v, want %d and the blockers %q", name, u, c.next, c.blockers)
		}
		if err := u.err(); (err != nil) != (len(c.blockers) > 0) || err != nil && !errors.Is(err, ErrUpgradeBlocked) {
			t.Errorf("%s: err() = %v", name, err)
		}
	}
}

func TestUpgradeWaitBeginsAgain(t *testing.T) {
	t.Parallel()
	free := []cluster.Member{server("a", 4), server("b", 4), server("c", 5, nonvoter)}
	for name, c := range map[string]struct {
		between []cluster.Member // at half time
		pause   time.Duration    // without an observation
		manual  bool             // at half time
		again   bool
	}{
		"nothing happened":     {between: free},
		"one was dead":         {between: []cluster.Member{server("a", 4), server("b", 4, dead), free[2]}, again: true},
		"one restarted":        {between: []cluster.Member{server("a", 4), server("b", 4, func(s *cluster.Member) { s.Starts++ }), free[2]}, again: true},
		"one was old":          {between: []cluster.Member{server("a", 4), server("b", 4), server("c", 3, nonvoter)}, again: true},
		"one more":             {between: append(slices.Clone(free), server("d", 4)), again: true},
		"one fewer":            {between: free[:2], again: true},
		"it was manual":        {between: free, manual: true, again: true},
		"the process was slow": {between: free, pause: 30 * time.Second},
		"the process froze":    {between: free, pause: 2 * time.Minute, again: true},
	} {
		w := upgradeWait{after: time.Hour}
		now, due := time.Duration(0), false
		observe := func(servers []cluster.Member, auto bool) {
			due, _ = w.observe(now, upgradeOf(3, servers), servers, auto)
		}
		for ; now < time.Hour; now += 10 * time.Second {
			if now == 30*time.Minute {
				observe(c.between, !c.manual)
				now += c.pause
			}
			if observe(free, true); due {
				t.Fatalf("%s: due after %v", name, now)
			}
		}
		now = time.Hour
		observe(free, true)
		if due == c.again {
			t.Errorf("%s: due after an hour: %v", name, due)
		}
		for ; !due && now < 3*time.Hour; now += 10 * time.Second {
			observe(free, true)
		}
		if since := now - 30*time.Minute - c.pause; c.again && (since < time.Hour || since > time.Hour+time.Minute) {
			t.Errorf("%s: due %v after that", name, since)
		}
	}
}

// A new cluster has run no other program, whether upgrades are automatic or manual.
func TestUpgradeWaitIsNotForNewClusters(t *testing.T) {
	t.Parallel()
	servers := []cluster.Member{server("a", 4)}
	for _, c := range []struct {
		founding bool
		at       time.Duration
		due      bool
	}{{true, 0, true}, {true, foundedWithin - 1, true}, {true, foundedWithin, false}, {false, 0, false}} {
		w := upgradeWait{after: time.Hour, founding: c.founding}
		if due, _ := w.observe(c.at, upgradeOf(3, servers), servers, false); due != c.due {
			t.Errorf("%+v: due %v", c, due)
		}
	}
}

// Clients can use all commands as soon as a new cluster is ready, unless a member does not report in time.
func TestNewClusterWaitsForReports(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		founding bool
		at       time.Duration
		used     uint32
		pauses   bool
	}{
		{true, 0, 1, true},
		{true, foundingPause - 1, fsm.Version - 1, true},
		{true, foundingPause, 1, false},
		{true, 0, fsm.Version, false},
		{false, 0, 1, false},
	} {
		w := upgradeWait{founding: c.founding}
		if got := w.pauses(c.at, c.used); got != c.pauses {
			t.Errorf("%+v: pauses %v", c, got)
		}
	}
}
