package check

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/snowflake"
)

// ids returns a range that start 1 issued.
func ids(first, step uint64, count uint32) history.Issued {
	return history.Issued{First: first, Step: step, Count: count, Op: first % 1000, Call: second, Return: 2 * second, Start: 1, Client: 7}
}

func next(id uint64, first int64, count uint32, increment int64) history.Op {
	return history.Op{ID: id, Workload: "relaxed", Do: history.DoNext, Key: "orders", Client: 3, Call: int64(id) * 10, Return: int64(id)*10 + 5, Outcome: history.OK, First: first, Count: count, Increment: increment, Start: 1}
}

func as(op history.Op, change func(*history.Op)) history.Op {
	change(&op)
	return op
}

func TestUniqueness(t *testing.T) {
	t.Parallel()
	const tick = 1 << 24 // layout middle: tick, 8 bits of sequence, 16 bits of worker
	for _, c := range []struct {
		name    string
		scene   *scene
		outcome Outcome
		texts   []string
	}{
		{"nothing", newScene(), Pass, nil},
		{"neighbours", newScene().issue("default", ids(1, 1, 100), ids(101, 1, 5), ids(106, 1, 1)), Pass, nil},
		{"an ID twice", newScene().issue("default", ids(4097, 1, 1), ids(5, 1, 1), ids(4097, 1, 1)), Fail,
			[]string{`ID 4097 of layout "default" was issued twice: 1 from 4097, in operation 97 of client 7, from 1.000000 s to 2.000000 s, start 1`}},
		{"an ID at the end of a range", newScene().issue("default", ids(10, 1, 11), ids(20, 1, 1)), Fail, []string{"ID 20 of"}},
		{"a range around others", newScene().issue("default", ids(30, 1, 1), ids(10, 1, 50), ids(59, 1, 1)), Fail, []string{"ID 30 of", "ID 59 of"}},
		{"one number in two layouts", newScene().issue("default", ids(tick, 1, 1)).issue("middle", ids(tick, 1, 1)), Pass, nil},
		{"two workers that interleave", newScene().issue("middle", ids(tick+1, 1<<16, 100), ids(tick+2, 1<<16, 100)), Pass, nil},
		{"one worker, in the middle", newScene().issue("middle", ids(tick+1, 1<<16, 100), ids(tick+2, 1<<16, 100), ids(tick+1+99<<16, 1<<16, 1)), Fail, []string{"ID 23265281 of"}},
		{"a step beyond the sequence", newScene().issue("middle", ids(tick+1+255<<16, 1<<16, 2), ids(2*tick+1, 1<<16, 1)), Fail, []string{"ID 33554433 of"}},
		{"another step", newScene().issue("middle", ids(tick+1, 1, 3), ids(tick+3, 1<<16, 1)), Fail, []string{"ID 16777219 of"}},
		{"a step of two", newScene().issue("default", ids(100, 2, 3), ids(101, 2, 3)), Pass, nil},
		{"a step of two with a duplicate", newScene().issue("default", ids(100, 2, 3), ids(104, 2, 3)), Fail, []string{"ID 104 of"}},
		{"data centers", newScene().issue("center", ids(5<<17|3<<12|9, 1, 1), ids(4<<17|3<<12|9, 1, 1), ids(5<<17|4<<12|9, 1, 1)), Pass, nil},
		{"beyond the layout", newScene().issue("default", ids(1<<63, 1, 1)), Fail, []string{"ID 9223372036854775808 was issued, which is not valid in layout"}},
		{"beyond the layout, twice", newScene().issue("default", ids(1<<63, 1, 1), ids(1<<63-5, 1, 6)), Fail, []string{"issued twice"}},
		{"ID 0", newScene().issue("default", ids(0, 1, 2)), Fail, []string{"the invalid ID 0 of layout"}},
		{"no such layout", newScene().issue("other", ids(1, 1, 1)), Invalid, []string{`"other"`}},

		{"numbers", newScene().ops(next(1, 1, 10, 1), next(2, 11, 1, 1), next(3, -5, 6, 1)), Pass, nil},
		{"a number twice", newScene().ops(next(1, 1, 10, 1), next(2, 10, 1, 1)), Fail, []string{`number 10 of sequence "orders" was issued twice`, "operation 1 of client 3", "operation 2 of client 3"}},
		{"a number twice, over Redis", newScene().ops(next(1, 1, 10, 1), as(next(2, 10, 1, 0), func(o *history.Op) { o.Do = history.DoIncr })), Fail, []string{"number 10"}},
		{"a number twice, in a block", newScene().ops(next(1, 1, 10, 1), as(next(2, 10, 9, 1), func(o *history.Op) { o.Do = history.DoBlock })), Fail, []string{"number 10"}},
		{"two sequences", newScene().ops(next(1, 1, 10, 1), as(next(2, 10, 1, 1), func(o *history.Op) { o.Key = "b" })), Pass, nil},
		{"a lost answer", newScene().ops(next(1, 1, 10, 1), as(next(2, 10, 1, 1), func(o *history.Op) { o.Outcome = history.Info })), Pass, nil},
		{"a read", newScene().ops(next(1, 1, 10, 1), as(next(2, 10, 1, 1), func(o *history.Op) { o.Do = history.DoRead })), Pass, nil},
		{"residues interleave", newScene().ops(next(1, 1, 3, 5), next(2, 2, 3, 5), next(3, 16, 1, 5)), Pass, nil},
		{"a number of an increment twice", newScene().ops(next(1, 1, 3, 5), next(3, 11, 2, 5)), Fail, []string{"number 11 of"}},
		{"counting down", newScene().ops(next(1, 10, 5, -2), next(2, 0, 5, -2), next(3, 9, 5, -2)), Pass, nil},
		{"counting down twice", newScene().ops(next(1, 10, 5, -2), next(2, 2, 5, -2)), Fail, []string{"number 2 of"}},
		{"increments mixed", newScene().ops(next(1, 1, 3, 5), next(2, 12, 3, 1), next(3, 15, 2, 3)), Pass, nil},
		{"increments mixed, twice", newScene().ops(next(1, 1, 3, 5), next(2, 12, 3, 1), next(3, 8, 3, 3)), Fail, []string{"number 11 of", "number 14 of"}},
		{"the ends", newScene().ops(next(1, 1<<63-1, 1, 1), next(2, -1<<63, 1, 1), next(3, -1<<63+1, 2, 1<<62)), Pass, nil},
		{"beyond the end", newScene().ops(next(1, 1<<63-1, 2, 1)), Fail, []string{"beyond 64 bits"}},
		{"beyond the other end", newScene().ops(next(1, -1<<63+3, 2, -4)), Fail, []string{"beyond 64 bits"}},
		{"a repeated request", newScene().ops(as(next(1, 1, 3, 1), request), as(next(2, 1, 3, 1), request)), Pass, nil},
		{"a repeated request with other numbers", newScene().ops(as(next(1, 1, 3, 1), request), as(next(2, 4, 3, 1), request)), Fail, []string{`request "r" of sequence "orders" received other numbers`}},
		{"numbers of a request in another operation", newScene().ops(as(next(1, 1, 3, 1), request), next(2, 1, 3, 1)), Fail, []string{"number 1 of"}},
		{"a forgotten request", newScene().ops(as(next(1, 1, 3, 1), request), as(next(70*second, 4, 3, 1), request)), Pass, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := c.scene.open(t)
			wants(t, Uniqueness(r), c.outcome, c.texts...)
			if c.outcome != Invalid {
				wants(t, UniquenessWithin(r, 2*entrySize), c.outcome, c.texts...)
			}
			if files, err := os.ReadDir(r.Dir); err != nil || slices.ContainsFunc(files, func(f os.DirEntry) bool { return f.Name() != "ids" && f.Name() != "history.jsonl" }) {
				t.Errorf("files after the check: %v, %v; want ids and history.jsonl only", files, err)
			}
		})
	}
}

func request(o *history.Op) { o.RequestID = "r" }

// TestUniquenessAgainstASet compares Uniqueness with a set of all IDs in random histories.
func TestUniquenessAgainstASet(t *testing.T) {
	t.Parallel()
	failed, histories := 0, depth.Of(50, 150)
	layouts := newScene().open(t).Layouts
	for seed := range uint64(histories) {
		r := rand.New(rand.NewPCG(seed, 1))
		name := []string{"default", "middle", "center"}[seed%3]
		layout := layouts[name]
		var all []history.Issued
		seen, duplicates := make(map[uint64]bool), false
		for range 1 + r.IntN(40) {
			id, err := layout.Pack(snowflake.Parts{Tick: 1 + r.Int64N(6), Worker: r.Uint64N(3), Sequence: r.Uint64N(100)})
			if err != nil {
				t.Fatal(err)
			}
			i := ids(id, layout.Step()*[]uint64{1, 1, 1, 2}[r.IntN(4)], 1+r.Uint32N(12))
			all = append(all, i)
			for k := range uint64(i.Count) {
				duplicates = duplicates || seen[i.First+k*i.Step]
				seen[i.First+k*i.Step] = true
			}
		}
		v := UniquenessWithin(newScene().issue(name, all...).open(t), entrySize*(1+r.IntN(50)))
		if (v.Outcome == Fail) != duplicates || v.Outcome == Invalid {
			t.Errorf("seed %d: UniquenessWithin() = %+v, want failure: %t", seed, v, duplicates)
		}
		if duplicates {
			failed++
		}
	}
	if failed < histories/5 || failed > histories*4/5 {
		t.Errorf("%d of %d histories have duplicates, want a fifth to four fifths", failed, histories)
	}
}

func TestSorterMergesManyFiles(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	s, err := newSorter(t.TempDir(), entrySize) // one file per entry
	if err != nil {
		t.Fatal(err)
	}
	const count = fanIn*fanIn + fanIn + 3
	for i := range uint64(count) {
		if err := s.add(entry{hi: r.Uint64N(3), lo: r.Uint64(), Issued: ids(i+1, 1, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	var last entry
	seen := make(map[uint64]bool)
	for e, err := range s.sorted() {
		if err != nil {
			t.Fatal(err)
		}
		if compareEntries(last, e) > 0 {
			t.Fatalf("sorted() yields %+v before %+v, want ascending order", last, e)
		}
		last, seen[e.First] = e, true
	}
	if len(seen) != count {
		t.Errorf("sorted() yields %d distinct entries, want %d", len(seen), count)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// BenchmarkUniqueness sorts and checks ranges of three workers, in a file per worker.
func BenchmarkUniqueness(b *testing.B) {
	const records = 10_000_000
	dir := b.TempDir()
	newScene().write(b, dir)
	run, err := Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	layout := run.Layouts["default"]
	for worker := range uint64(3) {
		w, err := history.CreateIDs(dir, "default", int(worker))
		if err != nil {
			b.Fatal(err)
		}
		for k := range uint64(records / 3) {
			w.Add(history.Issued{First: layout.Compose(int64(1+k/8), worker, k%8*100), Step: 1, Count: 100, Op: k + 1, Start: 1})
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if v := Uniqueness(run); v.Outcome != Pass || v.Facts["ranges"] != records/3*3 {
			b.Fatal(v)
		}
	}
}
