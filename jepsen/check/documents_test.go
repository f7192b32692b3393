package check

import (
	"testing"

	"github.com/snowraft/snowraft/jepsen/history"
)

// reserved returns the answer to a reservation of a number. The reservation has the ID of its operation.
func reserved(id uint64, key string, number int64) history.Op {
	return history.Op{
		ID: id, Workload: "documents", Do: history.DoReserve, Key: "i", Call: int64(id) * 10, Return: int64(id)*10 + 5, Outcome: history.OK,
		First: number, Text: "I" + string(rune('0'+number)), Claim: &history.Claim{Key: key, Reservation: id, Attempt: 1}, Fate: history.FateOpen,
	}
}

// of returns one operation about the reservation of another operation.
func of(op history.Op, id uint64, do string) history.Op {
	claim := *op.Claim
	return history.Op{
		ID: id, Workload: "documents", Do: do, Key: op.Key, Call: int64(id) * 10, Return: int64(id)*10 + 5, Outcome: history.OK,
		First: op.First, Claim: &claim,
	}
}

func never(op history.Op) history.Op {
	op.Claim.Never = true
	return op
}

func texted(id uint64, number int64, text string) history.Op {
	return history.Op{
		ID: id, Workload: "documents", Do: history.DoText, Key: "t", Call: int64(id) * 10, Return: int64(id)*10 + 5, Outcome: history.OK,
		First: number, Count: 1, Text: text,
	}
}

// decoded returns the answer to the reading of a text.
func decoded(id uint64, key, text string, number int64, state string) history.Op {
	return history.Op{
		ID: id, Workload: "documents", Do: history.DoDecode, Key: key, Call: int64(id) * 10, Return: int64(id)*10 + 5, Outcome: history.OK,
		First: number, Text: text, State: state,
	}
}

// started returns the answer to the start of a backfill job, and imported a batch of the job, with one ID for each row. The layout
// "default" has its epoch a second before the scene.
func started(id, job uint64) history.Op {
	return history.Op{ID: id, Workload: "documents", Do: history.DoJob, Key: "default", Outcome: history.OK, Job: job}
}

func imported(id, job uint64, millis ...int64) (op history.Op, ids []history.Issued) {
	op = history.Op{ID: id, Workload: "documents", Do: history.DoBackfill, Key: "default", Outcome: history.OK, Job: job, TimesMillis: millis}
	for n, at := range millis {
		tick := uint64(at - (sceneWall/1e6 - 1000))
		ids = append(ids, history.Issued{First: tick<<22 | job<<12 | uint64(n), Step: 1, Count: 1, Op: id})
	}
	return op, ids
}

// imports adds a batch to a scene.
func (s *scene) imports(op history.Op, ids []history.Issued) *scene {
	return s.ops(op).issue("default", ids...)
}

// bookkept returns a scene with a text, operations, and the final rows and account of a sequence.
func bookkept(reuses bool, ops []history.Op, rows []history.Row, a history.Account) *scene {
	s := newScene(history.Line{Sequence: &history.Sequence{Name: "i", Mode: history.ModeGapless, Reuses: reuses}})
	s.lines[0].Run.Workloads = []string{"documents"}
	s.ops(texted(1000, 1, "one"), started(1001, 5)).imports(imported(1002, 5, rowAt)).ops(ops...)
	for _, r := range rows {
		r.Sequence = "i"
		s.add(history.Line{Row: &r})
	}
	a.Sequence = "i"
	s.add(history.Line{Account: &a})
	return s
}

const rowAt = sceneWall/1e6 - 500

func TestDocuments(t *testing.T) {
	t.Parallel()
	one, two := reserved(1, "a", 1), reserved(5, "b", 1)
	document := []history.Row{{Number: 1, Key: "a"}}
	used := history.Account{First: 1, Last: 1, Confirmed: 1}
	life := history.Line{Life: &history.Life{Number: 2, At: 45}}
	for _, c := range []struct {
		name    string
		scene   *scene
		outcome Outcome
		texts   []string
	}{
		{"another workload", newScene().ops(one, two), Pass, nil},
		{"a document", bookkept(false, []history.Op{one, of(one, 2, history.DoConfirm)}, document, used), Pass, nil},
		{"nothing", bookkept(false, nil, nil, history.Account{Last: -1}), Invalid, []string{"documents: 0"}},
		{"another attempt", bookkept(false, []history.Op{one, as(one, func(o *history.Op) { o.ID = 2 })}, document, used), Pass, nil},

		{"a number reserved twice", bookkept(false, []history.Op{one, two}, document, used), Fail, []string{"the sequence does not reuse numbers"}},
		{"a number reused", bookkept(true, []history.Op{one, never(of(one, 2, history.DoVoid)), two}, []history.Row{{Number: 1, Key: "b"}}, used), Pass, nil},
		{"a number reused without the word", bookkept(true, []history.Op{one, of(one, 2, history.DoVoid), two}, []history.Row{{Number: 1, Key: "b"}}, used), Fail,
			[]string{"no caller said before that it can never be committed"}},
		{"a number reused before the word", bookkept(true, []history.Op{one, two, never(of(one, 8, history.DoVoid))}, []history.Row{{Number: 1, Key: "b"}}, used), Fail,
			[]string{"no caller said before"}},
		{"a number reused after a restore", func() *scene {
			s := bookkept(true, []history.Op{one, never(of(one, 2, history.DoVoid)), two}, []history.Row{{Number: 1, Key: "b"}}, used)
			s.add(life)
			return s
		}(), Fail, []string{"the cluster was restored between"}},
		{"a taken number reserved", bookkept(false, []history.Op{of(one, 1, history.DoTake), two}, []history.Row{{Number: 1, Key: "b"}}, used), Fail,
			[]string{`the number 1 of "i" was taken in operation 1, and reserved for key "b"`}},
		{"confirmed and void", bookkept(false, []history.Op{one, of(one, 2, history.DoVoid), of(one, 3, history.DoConfirm)}, document, used), Fail,
			[]string{"both confirmed, in operation 3, and void, in operation 2"}},
		{"a key with two numbers", bookkept(false, []history.Op{one, reserved(5, "a", 2)}, document, history.Account{First: 1, Last: 2, Confirmed: 1, Open: 1, Runs: []history.Numbers{{First: 2, Count: 1, Fate: history.FateOpen}}}), Fail,
			[]string{`key "a" of sequence "i" got number 1 in operation 1, and number 2 in operation 5`}},
		{"a confirmed key without a document", bookkept(false, []history.Op{as(two, func(o *history.Op) { o.Fate = history.FateConfirmed })}, document, used), Fail,
			[]string{`key "b" was confirmed with the number 1 of "i", and has no document`}},
		{"a confirmed key with another number", bookkept(false, []history.Op{as(reserved(1, "a", 2), func(o *history.Op) { o.Fate = history.FateConfirmed })}, document,
			history.Account{First: 1, Last: 2, Confirmed: 1, Open: 1, Runs: []history.Numbers{{First: 2, Count: 1, Fate: history.FateOpen}}}), Fail, []string{"its document has the number 1"}},

		{"a text twice", bookkept(false, []history.Op{one, texted(3, 2, "one")}, document, used), Fail, []string{`have the same text "one"`}},
		{"a number twice", bookkept(false, []history.Op{one, texted(3, 1, "one")}, document, used), Fail, []string{`the number 1 of "t" was issued twice`}},
		{"two texts of a number", bookkept(false, []history.Op{one, as(one, func(o *history.Op) { o.ID, o.Text = 3, "x" })}, document, used), Fail, []string{`has the text "I1" in operation 1, and "x"`}},

		{"a text read back", bookkept(false, []history.Op{one, decoded(3, "t", "one", 1, history.StateUnknown), decoded(4, "i", "I1", 1, history.StateGranted)}, document, used), Pass, nil},
		{"a text of another number", bookkept(false, []history.Op{one, decoded(3, "t", "one", 2, history.StateGranted)}, document, used), Fail,
			[]string{`read the text "one" as the number 2 of "t", and it was issued as 1 of "t"`}},
		{"a text that was not granted", bookkept(false, []history.Op{one, decoded(3, "t", "one", 1, history.StateNotGranted)}, document, used), Fail,
			[]string{"which was not granted, although it was issued in operation 1000"}},
		{"a text from nowhere", bookkept(false, []history.Op{one, decoded(3, "t", "two", 2, history.StateGranted)}, document, used), Fail, []string{"which was not issued"}},
		{"a late number in another period", bookkept(false, []history.Op{as(one, func(o *history.Op) { o.Only = "2026-11-30" })}, document, used), Fail,
			[]string{`reserved the number 1 of "i", and requested the period 2026-11-30`}},
		{"a late key with a number", bookkept(false, []history.Op{one, as(one, func(o *history.Op) {
			o.ID, o.Only, o.Claim = 3, "2026-11-30", &history.Claim{Key: "a", Reservation: 1, Attempt: 2}
		})}, document, used), Pass, nil},
		{"a number void by a loop, and confirmed", bookkept(false, []history.Op{one, as(of(one, 2, history.DoReconcile), func(o *history.Op) { o.Fate = history.FateVoid }), of(one, 3, history.DoConfirm)}, document, used), Fail,
			[]string{"both confirmed, in operation 3, and void, in operation 2"}},
		{"a number confirmed by a loop, and void", bookkept(false, []history.Op{one, as(of(one, 2, history.DoReconcile), func(o *history.Op) { o.Fate = history.FateConfirmed }), of(one, 3, history.DoVoid)}, document, used), Fail,
			[]string{"both confirmed, in operation 2, and void, in operation 3"}},

		{"more rows", bookkept(false, []history.Op{one}, document, used).imports(imported(3, 5, rowAt, rowAt, rowAt+1)), Pass, nil},
		{"a job twice", bookkept(false, []history.Op{one, started(3, 5)}, document, used), Fail, []string{`the job 5 of layout "default" was started twice: in operations 1001 and 3`}},
		{"a row without an ID", bookkept(false, []history.Op{one}, document, used).imports(func() (history.Op, []history.Issued) {
			op, ids := imported(3, 5, rowAt, rowAt)
			return op, ids[:1]
		}()), Fail, []string{"operation 3 imported 2 rows, and received 1 IDs"}},
		{"a row at another time", bookkept(false, []history.Op{one}, document, used).imports(func() (history.Op, []history.Issued) {
			op, ids := imported(3, 5, rowAt)
			op.TimesMillis[0]++
			return op, ids
		}()), Fail, []string{"for a row of the time"}},
		{"an ID of another job", bookkept(false, []history.Op{one}, document, used).imports(func() (history.Op, []history.Issued) {
			op, ids := imported(3, 5, rowAt)
			op.Job = 6
			return op, ids
		}()), Fail, []string{"of worker 5 from backfill job 6"}},
		{"an ID twice in a batch", bookkept(false, []history.Op{one}, document, used).imports(func() (history.Op, []history.Issued) {
			op, ids := imported(3, 5, rowAt, rowAt)
			ids[1] = ids[0]
			return op, ids
		}()), Fail, []string{"of the same job"}},

		{"a void document", bookkept(false, []history.Op{one}, document, history.Account{First: 1, Last: 1, Void: 1, Runs: []history.Numbers{{First: 1, Count: 1, Fate: history.FateVoid}}}), Fail,
			[]string{`is void in its account, and the row in the database has the key "a"`}},
		{"a confirmed number without a row", bookkept(false, []history.Op{one}, document, history.Account{First: 1, Last: 2, Confirmed: 2}), Fail, []string{"the number 2 of \"i\" is confirmed in its account, and has no row"}},
		{"a document of a taken number", bookkept(false, []history.Op{one}, document, history.Account{First: 1, Last: 1, Taken: 1, Runs: []history.Numbers{{First: 1, Count: 1, Fate: history.FateTaken}}}), Fail, []string{"is taken in its account"}},
		{"a reserved number missing", bookkept(false, []history.Op{one, reserved(2, "b", 2)}, document,
			history.Account{First: 1, Last: 3, Confirmed: 1, Taken: 1, Missing: 1, Runs: []history.Numbers{{First: 3, Count: 1, Fate: history.FateTaken}}}), Fail, []string{"is missing in its account"}},
		{"a reserved number beyond the last", bookkept(false, []history.Op{one, reserved(2, "b", 2)}, document, used), Fail, []string{"was reserved, and is beyond the last one"}},
		{"a document beyond the last", bookkept(false, []history.Op{one}, append([]history.Row{{Number: 2, Key: "b"}}, document...), used), Fail, []string{"is in the database, and beyond the last one"}},
		{"counts that are wrong", bookkept(false, []history.Op{one}, document, history.Account{First: 1, Last: 2, Confirmed: 1}), Fail, []string{"counts map[confirmed:1] numbers by fate, but lists map[confirmed:2]"}},
		{"runs that overlap", bookkept(false, []history.Op{one}, document, history.Account{First: 1, Last: 2, Void: 2, Runs: []history.Numbers{{First: 1, Count: 1, Fate: history.FateVoid}, {First: 1, Count: 1, Fate: history.FateVoid}}}), Fail, []string{"out of order"}},
		{"no account", bookkept(false, []history.Op{one}, document, history.Account{Period: "2026-11-30"}), Fail, []string{"beyond the last one"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wants(t, Documents(c.scene.open(t)), c.outcome, c.texts...)
		})
	}
}
