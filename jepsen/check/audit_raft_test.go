package check

import (
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/jepsen/history"
)

// Logs and statuses that break a rule.
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
		}, Fail, "the members applied something else"},
		"no command": {func(w *world) { w.append(raft.LogCommand, []byte("x")) }, Fail, "can't be decoded"},
		"two voters at once": {func(w *world) {
			w.append(raft.LogConfiguration, configuration("a", "b", "c"))
			w.append(raft.LogConfiguration, configuration("a", "b", "d"))
		}, Fail, "changes 2 voters at once: +d, -c"},
		"no voters":        {func(w *world) { w.append(raft.LogConfiguration, configuration()) }, Fail, "has no voters"},
		"no configuration": {func(w *world) { w.append(raft.LogConfiguration, []byte{1}) }, Fail, "can't be decoded"},
		"a term that goes back": {func(w *world) {
			w.term = 5
			w.append(raft.LogNoop, nil)
			w.term = 4
			w.append(raft.LogNoop, nil)
		}, Fail, "of term 5"},
		"a gap": {func(w *world) {
			w.append(raft.LogNoop, nil)
			w.append(raft.LogNoop, nil)
			w.logs = append(w.logs[:1:1], w.logs[2:]...)
		}, Invalid, "the committed log is not known"},
		"two leaders": {func(w *world) {
			for call := range int64(2) {
				w.status(history.Status{Member: "n1", Start: 1, Call: 10 * call, Return: 10*call + 1, Term: 7, LeaderID: "a"})
				w.status(history.Status{Member: "n2", Start: 2, Call: 10 * call, Return: 10*call + 1, Term: 7, LeaderID: "b"})
			}
		}, Fail, "two leaders in term 7"},
		"a leader that may not vote": {func(w *world) {
			w.append(raft.LogConfiguration, configuration("a", "b", "c"))
			w.term = 7
			w.append(raft.LogNoop, nil)
			for call := range int64(2) {
				w.status(history.Status{Member: "n1", Start: 1, Call: 10 * call, Return: 10*call + 1, Term: 7, LeaderID: "nonvoter"})
			}
		}, Fail, "which may not vote: [a b c] may"},
		"a lost entry": {func(w *world) { w.status(history.Status{Member: "n1", Start: 1, Commit: 2, Return: 1000}) }, Fail, "what was committed is lost"},
		"a commit index that goes back": {func(w *world) {
			w.status(history.Status{Member: "n1", Start: 1, Call: 1, Return: 2, Commit: 1})
			w.status(history.Status{Member: "n1", Start: 1, Call: 3, Return: 4})
		}, Fail, "commit index of n1 (start 1) went back from 1 to 0"},
		"an applied index that goes back": {func(w *world) {
			w.status(history.Status{Member: "n1", Start: 1, Call: 1, Return: 2, Applied: 1})
			w.status(history.Status{Member: "n1", Start: 1, Call: 3, Return: 4})
		}, Fail, "applied index of n1 (start 1) went back from 1 to 0"},
		"a term of a member that goes back": {func(w *world) {
			w.status(history.Status{Member: "n1", Start: 1, Call: 1, Return: 2, Term: 9})
			w.status(history.Status{Member: "n1", Start: 1, Call: 3, Return: 4, Term: 8})
		}, Fail, "term of n1 (start 1) went back from 9 to 8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.with(w)
			wantVerdict(t, LogAudit(w.finish()), c.outcome, c.want)
		})
	}
}

// Statuses that only seem to break a rule.
func TestAuditOfStatusesThatAreNoFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for call := range int64(2) { // another leader in each answer: the term is not of its moment
		w.status(history.Status{Member: "n1", Start: 1, Call: 10 * call, Return: 10*call + 1, Term: 7, LeaderID: string(rune('a' + call))})
		w.status(history.Status{Member: "n2", Start: 2, Call: 10 * call, Return: 10*call + 1, Term: 7, LeaderID: string(rune('b' + call))})
	}
	w.status(history.Status{Member: "n1", Start: 3, Call: 1, Return: 9, Commit: 1})
	w.status(history.Status{Member: "n1", Start: 3, Call: 2, Return: 8})                // at the same time
	w.status(history.Status{Member: "n1", Start: 4, Call: 10, Return: 11})              // another start
	w.status(history.Status{Member: "n1", Start: 4, Call: 12, Return: 13, Error: "no"}) // no answer
	w.status(history.Status{Member: "n1", Start: 4, Call: 1001, Return: 1002, Commit: 99})
	wantVerdict(t, LogAudit(w.finish()), Pass, "")
}

// A member of another cluster must not come into the configuration.
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
			want = "has x1, b, which is a member of another cluster"
		}
		wantVerdict(t, LogAudit(w.finish()), outcome, want)
	}
}
