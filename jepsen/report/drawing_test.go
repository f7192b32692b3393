package report

import (
	"slices"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/history"
)

// four returns a run of one second: four buckets, each 250 units wide.
func four() *digest {
	return &digest{Run: &check.Run{}, zero: origin, end: origin + int64(time.Second), series: newSeries(origin)}
}

func TestStairsHaveGaps(t *testing.T) {
	t.Parallel()
	var s stairs
	for _, i := range []int{0, 1, 3} {
		s.add(four(), i, num(10*i))
	}
	if got, want := s.b.String(), "M0 0H250L250 10H500M750 30H1000"; got != want {
		t.Errorf("stairs = %s, want %s", got, want)
	}
}

func TestAreasAreStacked(t *testing.T) {
	t.Parallel()
	d := four()
	if got, want := d.area([]num{9, 8}, []num{5, 4}), "M0 5H250L250 4H500L500 8H250L250 9H0Z"; got != want {
		t.Errorf("area() = %s, want %s", got, want)
	}
	if got := d.area(nil, nil); got != "" {
		t.Errorf("area(nil, nil) = %q, want \"\"", got)
	}
	for range 3 {
		d.series.add(history.Op{Workload: "a", Outcome: history.OK, Return: origin})
	}
	d.series.add(history.Op{Workload: "b", Outcome: history.OK, Return: origin})
	d.series.add(history.Op{Workload: "b", Outcome: history.Fail, Return: origin})
	for range 3 {
		d.series.add(history.Op{Workload: "b", Outcome: history.Info, Return: origin})
	}
	var got []path
	for _, p := range d.rates().Panes {
		got = append(got, p.Paths...)
	}
	// Above 12 and 16 per second on a scale to 16, below 4 and 16 on a scale to 16.
	want := []path{
		{"M0 37.5H250L250 150H0Z", "area w0"}, {"M0 0H250L250 37.5H0Z", "area w1"},
		{"M0 42H250L250 56H0Z", "area not0"}, {"M0 0H250L250 42H0Z", "area not1"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("paths = %v, want %v", got, want)
	}
}

func TestMomentHasWidth(t *testing.T) {
	t.Parallel()
	var p pane
	p.between(four(), origin, origin, 0, 1, "", "")
	if p.Rects[0].W <= 0 {
		t.Error("mark of a moment has no width, want a visible mark")
	}
}

// said returns a status of n1 at a moment, with a clock that is off by an offset.
func said(at, off time.Duration) history.Status {
	const wall = int64(time.Hour)
	return history.Status{
		Member: "n1", Call: origin + int64(at-40*time.Millisecond), Return: origin + int64(at),
		WallNanos: wall, ClockMillis: (wall - int64(20*time.Millisecond) + int64(off)) / 1e6,
	}
}

func TestClocks(t *testing.T) {
	t.Parallel()
	if got := offset(said(time.Second, -3*time.Second)); got != -3*time.Second {
		t.Errorf("offset() = %v, want -3s", got)
	}
	d := four()
	d.Header.Members = []string{"n1", "n2"}
	d.Statuses = []history.Status{
		said(0, time.Millisecond), said(10*time.Millisecond, -time.Second), said(20*time.Millisecond, time.Millisecond),
		said(300*time.Millisecond, 0), {Member: "n2", Error: "no answer"},
	}
	f := d.clocks()
	scale := signed(time.Second)
	var s stairs
	s.add(d, 0, scale.y(-1e9))
	s.add(d, 1, scale.y(0))
	if got := f.Panes[0].Paths; len(got) != 1 || got[0].D != s.b.String() {
		t.Errorf("paths = %v, want %s", got, s.b.String())
	}
	if len(f.Legend) != 1 {
		t.Errorf("legend = %v, want only the member that answered", f.Legend)
	}
}

func TestLeaderTerms(t *testing.T) {
	t.Parallel()
	say := func(member, leader string, term uint64, at int64) history.Status {
		return history.Status{Member: member, MemberID: "id-" + member, LeaderID: leader, Term: term, Return: at}
	}
	got := leaderTerms([]history.Status{
		say("n3", "id-n2", 2, 5), say("n2", "id-n2", 2, 4), // order of the journal, not of time
		say("n1", "", 3, 6),      // term without a leader
		say("n1", "id-n2", 4, 7), // outdated leader
		say("n3", "id-n3", 4, 8),
		say("n1", "unknown", 5, 9),
	})
	if want := []leaderTerm{{2, "n2", 4}, {4, "n3", 7}, {5, "", 9}}; !slices.Equal(got, want) {
		t.Errorf("leaderTerms() = %v, want %v", got, want)
	}
}
