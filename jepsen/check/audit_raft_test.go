package check

import (
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/jepsen/history"
)

// TestAuditFails has logs and statuses that break a rule.
func TestAuditFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with    func(w *world)
		outcome Outcome
		want    string
	}{
		"another state of the leader": {func(w *world) {
			w.checkpoint(0, nil)
			index, digest := w.state.LastCheckpoint()
			digest[0]++
			w.checkpoint(index, digest[:])
		}, Fail, "the members applied entries differently"},
		"no command": {func(w *world) { w.append(raft.LogCommand, []byte("x")) }, Fail, "cannot be decoded"},
		"two voters at once": {func(w *world) {
			w.append(raft.LogConfiguration, configuration("a", "b", "c"))
			w.append(raft.LogConfiguration, configuration("a", "b", "d"))
		}, Fail, "changes 2 voters at once: +d, -c"},
		"no voters":        {func(w *world) { w.append(raft.LogConfiguration, configuration()) }, Fail, "has no voters"},
		"no configuration": {func(w *world) { w.append(raft.LogConfiguration, []byte{1}) }, Fail, "cannot be decoded"},
		"a lower term": {func(w *world) {
			w.term = 5
			w.append(raft.LogNoop, nil)
			w.term = 4
			w.append(raft.LogNoop, nil)
		}, Fail, "term 5"},
		"a gap": {func(w *world) {
			w.append(raft.LogNoop, nil)
			w.append(raft.LogNoop, nil)
			w.logs = append(w.logs[:1:1], w.logs[2:]...)
		}, Invalid, "the committed log is incomplete"},
		"two leaders": {func(w *world) {
			for call := range int64(2) {
				w.status(history.Status{Member: "n1", Start: 1, Call: 10 * call, Return: 10*call + 1, Term: 7, LeaderID: "a"})
				w.status(history.Status{Member: "n2", Start: 2, Call: 10 * call, Return: 10*call + 1, Term: 7, LeaderID: "b"})
			}
		}, Fail, "two leaders in term 7"},
		"a nonvoter as the leader": {func(w *world) {
			w.append(raft.LogConfiguration, configuration("a", "b", "c"))
			w.term = 7
			w.append(raft.LogNoop, nil)
			for call := range int64(2) {
				w.status(history.Status{Member: "n1", Start: 1, Call: 10 * call, Return: 10*call + 1, Term: 7, LeaderID: "nonvoter"})
			}
		}, Fail, "which is not a voter; the voters are [a b c]"},
		"a lost entry": {func(w *world) { w.status(history.Status{Member: "n1", Start: 1, Commit: 2, Return: 1000}) }, Fail, "committed entries were lost"},
		"a lower commit index": {func(w *world) {
			w.status(history.Status{Member: "n1", Start: 1, Call: 1, Return: 2, Commit: 1})
			w.status(history.Status{Member: "n1", Start: 1, Call: 3, Return: 4})
		}, Fail, "commit index of n1 (start 1) decreased from 1 to 0"},
		"a lower applied index": {func(w *world) {
			w.status(history.Status{Member: "n1", Start: 1, Call: 1, Return: 2, Applied: 1})
			w.status(history.Status{Member: "n1", Start: 1, Call: 3, Return: 4})
		}, Fail, "applied index of n1 (start 1) decreased from 1 to 0"},
		"a lower term of a member": {func(w *world) {
			w.status(history.Status{Member: "n1", Start: 1, Call: 1, Return: 2, Term: 9})
			w.status(history.Status{Member: "n1", Start: 1, Call: 3, Return: 4, Term: 8})
		}, Fail, "term of n1 (start 1) decreased from 9 to 8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.with(w)
			wantVerdict(t, LogAudit(w.finish()), c.outcome, c.want)
		})
	}
}

// TestAuditOfValidStatuses has statuses that only seem to break a rule.
func TestAuditOfValidStatuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for call := range int64(2) { // another leader in each answer, from another moment than the term
		w.status(history.Status{Member: "n1", Start: 1, Call: 10 * call, Return: 10*call + 1, Term: 7, LeaderID: string(rune('a' + call))})
		w.status(history.Status{Member: "n2", Start: 2, Call: 10 * call, Return: 10*call + 1, Term: 7, LeaderID: string(rune('b' + call))})
	}
	w.status(history.Status{Member: "n1", Start: 3, Call: 1, Return: 9, Commit: 1})
	w.status(history.Status{Member: "n1", Start: 3, Call: 2, Return: 8})                // overlaps the first
	w.status(history.Status{Member: "n1", Start: 4, Call: 10, Return: 11})              // another start
	w.status(history.Status{Member: "n1", Start: 4, Call: 12, Return: 13, Error: "no"}) // no answer
	w.status(history.Status{Member: "n1", Start: 4, Call: 1001, Return: 1002, Commit: 99})
	wantVerdict(t, LogAudit(w.finish()), Pass, "")
}

// A configuration must not contain a member of another cluster.
func TestAuditOfStrangers(t *testing.T) {
	t.Parallel()
	for ip, outcome := range map[string]Outcome{"10.77.0.150": Fail, "10.77.0.15": Pass} {
		w := newWorld(t)
		w.line(history.Line{Note: &history.Note{Member: "x1", What: history.NoteStranger, Detail: ip}})
		w.append(raft.LogConfiguration, raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{
			{Suffrage: raft.Voter, ID: "a", Address: "a@10.77.0.1:7702"},
			{Suffrage: raft.Nonvoter, ID: "b", Address: "b@10.77.0.150:7702"},
		}}))
		want := ""
		if outcome == Fail {
			want = "contains x1 (b), a member of another cluster"
		}
		wantVerdict(t, LogAudit(w.finish()), outcome, want)
	}
}
