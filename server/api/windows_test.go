package api

import (
	"fmt"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/fsm"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

const start = int64(1_790_000_000_000) // Unix ms

// windowsReplica is a state machine that applies commands in order.
type windowsReplica struct {
	*fsm.Machine
	t      testing.TB
	layout *snowflake.Layout
	index  uint64
}

func newWindowsReplica(t testing.TB, fields string) *windowsReplica {
	parsed, err := snowflake.ParseFields(fields)
	if err != nil {
		t.Fatal(err)
	}
	l := snowflake.MustNew(snowflake.Spec{Name: "l", UnitMillis: 10, EpochMillis: start - 86_400_000, Fields: parsed})
	r := &windowsReplica{Machine: fsm.New(fsm.Options{}), t: t, layout: l}
	r.do(start, &commandv1.Command{Body: &commandv1.Command_CreateLayout{CreateLayout: &commandv1.CreateLayout{Spec: fsm.LayoutSpec(l.Spec())}}})
	return r
}

func (r *windowsReplica) do(now int64, cmd *commandv1.Command) fsm.Result {
	cmd.ClockAtMs, cmd.Version = now, 1
	data, err := fsm.Encode(cmd)
	if err != nil {
		r.t.Fatal(err)
	}
	r.index++
	result := r.Apply(&raft.Log{Index: r.index, Type: raft.LogCommand, Data: data}).(fsm.Result)
	if err := result.Failure(); err != nil {
		r.t.Fatalf("%v: %v", cmd, err)
	}
	return result
}

func (r *windowsReplica) acquire(now int64, holder string, window int64) fsm.Grant {
	return r.do(now, &commandv1.Command{Body: &commandv1.Command_AcquireWorker{AcquireWorker: &commandv1.AcquireWorker{
		Layout: "l", Holder: holder, NonceHash: make([]byte, 32), WindowMs: window,
	}}}).Grant
}

func (r *windowsReplica) windows(now int64, members ...*snowraftv1.MemberView) *snowraftv1.LayoutWindows {
	return layoutWindows(r.Machine, r.layout, members, now)
}

func memberView(name string, lanes ...*snowraftv1.Lane) *snowraftv1.MemberView {
	return &snowraftv1.MemberView{Member: &snowraftv1.Member{Id: name + "-id", Name: name}, Lanes: lanes}
}

func TestWindowsShowMembersThenOthersThenEnded(t *testing.T) {
	r := newWindowsReplica(t, "time:41,worker:10,sequence:12")
	old := r.acquire(start, "app/0", 1000)
	app := r.acquire(start, "other/0", 60_000)
	own := r.acquire(start, "a/0", 60_000)
	silent := r.acquire(start, "b/1", 60_000)
	again := r.acquire(start+5000, "app/0", 60_000) // acquires the same worker again
	short := r.acquire(start+5000, "short/0", 100)
	lane := &snowraftv1.Lane{Layout: "l", Worker: own.Worker, Token: own.Token, PositionAtMs: start + 4990}
	stale := &snowraftv1.Lane{Layout: "l", Worker: app.Worker, Token: app.Token + 100, PositionAtMs: 1}

	w := r.windows(start+6000, memberView("a", lane, stale), memberView("b"))
	if w.GetWorkers() != 1024 || w.GetUsed() != 5 || w.GetHeld() != 4 || w.GetTickMs() != 10 {
		t.Errorf("windows = %v, want 4 of 5 used of 1024 workers held, with a tick of 10 ms", w)
	}
	type row struct {
		worker, token uint64
		member        string
		position      int64
		held          bool
	}
	var got []row
	for _, x := range w.GetRows() {
		got = append(got, row{x.GetWorker(), x.GetToken(), x.GetMemberId(), x.GetPositionAtMs(), x.GetHeld()})
		if x.GetHighWaterAtMs() != x.GetUntilAtMs() || x.GetFromAtMs() >= x.GetUntilAtMs() {
			t.Errorf("row %v, want a window up to its high-water", x)
		}
	}
	want := []row{
		{own.Worker, own.Token, "a-id", start + 4990, true},
		{silent.Worker, silent.Token, "b-id", 0, true}, // known by name, because the member reports no lane
		{again.Worker, again.Token, "", 0, true},
		{app.Worker, app.Token, "", 0, true},
		{short.Worker, short.Token, "", 0, false},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("rows = %v, want %v", got, want)
	}
	if e := w.GetEarlier(); len(e) != 1 || e[0].GetToken() != old.Token || e[0].GetUntilAtMs() != start+1000 {
		t.Errorf("earlier = %v, want the first window of %q", e, "app/0")
	}
	if e := r.windows(start + 1000 + earlierFor + 1).GetEarlier(); len(e) != 0 {
		t.Errorf("earlier = %v, want none after %d ms", e, earlierFor)
	}
}

func TestWindowsAreBounded(t *testing.T) {
	r := newWindowsReplica(t, "time:38,worker:12,sequence:12")
	for i := range 3000 {
		r.acquire(start, fmt.Sprintf("app-%d/0", i), 60_000)
	}
	member := r.acquire(start, "a/0", 60_000)
	for i := range 100 {
		r.acquire(start, fmt.Sprintf("short-%d/0", i), 10+10*int64(i))
	}
	w := r.windows(start+5000, memberView("a"))
	if len(w.GetRows()) != maxWindowRows || w.GetRows()[0].GetWorker() != member.Worker || w.GetRows()[1].GetWorker() != 0 {
		t.Errorf("%d rows, beginning with %v, want %d, beginning with the member", len(w.GetRows()), w.GetRows()[:2], maxWindowRows)
	}
	if w.GetHeld() != 3001 {
		t.Errorf("%d workers are held, want 3001", w.GetHeld())
	}
	ended := r.windows(start + 100_000).GetRows()
	for i := range ended {
		if ended[i].GetHeld() || i > 0 && ended[i].GetUntilAtMs() > ended[i-1].GetUntilAtMs() {
			t.Fatalf("ended rows %d and %d: %v, want the latest end first", i-1, i, ended)
		}
	}
}

func BenchmarkWindows(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := newWindowsReplica(b, "time:38,worker:20,sequence:5")
			for i := range n {
				r.acquire(start, fmt.Sprintf("a%d/0", i), 60_000)
			}
			for b.Loop() {
				r.windows(start + 1000)
			}
		})
	}
}
