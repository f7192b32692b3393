package debug

import (
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/server/diagnose"
)

type identityDocument struct {
	MemberID  string `json:"memberId"`
	ClusterID string `json:"clusterId"`
	Starts    uint64 `json:"starts,string"`
	HeldTerm  bool   `json:"heldTerm"` // the directory has ever held a term, or log entries
	HeldLog   bool   `json:"heldLog"`
	Secured   bool   `json:"secured"`
}

type logDocument struct {
	PageBytes          uint64         `json:"pageBytes,string"`
	Pages              uint64         `json:"pages,string"`
	FirstIndex         uint64         `json:"firstIndex,string"`
	LastIndex          uint64         `json:"lastIndex,string"`
	FirstTerm          uint64         `json:"firstTerm,string"`
	LastTerm           uint64         `json:"lastTerm,string"`
	Entries            map[string]int `json:"entries"` // number of entries by type
	CurrentTerm        uint64         `json:"currentTerm,string"`
	VotedTerm          uint64         `json:"votedTerm,string"`
	VotedFor           string         `json:"votedFor"`
	ConfigurationIndex uint64         `json:"configurationIndex,string"` // index of the last configuration in the log
	Configuration      []server       `json:"configuration"`
}

type server struct {
	ID      string `json:"id"`
	Address string `json:"address"`
	Voter   bool   `json:"voter"`
}

type snapshotDocument struct {
	ID            string   `json:"id"`
	Index         uint64   `json:"index,string"`
	Term          uint64   `json:"term,string"`
	Bytes         int64    `json:"bytes,string"`
	Configuration []server `json:"configuration"`
	Problem       string   `json:"problem,omitempty"`
}

type stateDocument struct {
	Index      uint64 `json:"index,string"`
	Term       uint64 `json:"term,string"`
	FSMVersion uint32 `json:"fsmVersion"`
	Layouts    int    `json:"layouts"`
	Sequences  int    `json:"sequences"`
	ObservedMS int64  `json:"observedClockAtMs,string"`
}

// addDirectory adds the files about the data directory of a stopped member.
func addDirectory(w *archive, dir string, nowMillis int64) error {
	in, err := storage.Inspect(dir, slog.New(slog.DiscardHandler))
	if errors.Is(err, os.ErrNotExist) {
		return cli.Usagef("--%s %q: not the data directory of a member; choose another directory", dirFlag, dir)
	}
	if err != nil {
		return err
	}
	redact := diagnose.NewRedactor()
	problems := cli.Map(func(err error) string { return redact.Text(err.Error()) }, in.Problems)
	if b, err := backup.OpenDirectory(dir, nowMillis); err != nil {
		problems = append(problems, "state: "+redact.Text(err.Error()))
	} else if err := w.addJSON("directory/state.json", stateDocument{
		Index: b.Header.GetIndex(), Term: b.Header.GetTerm(), FSMVersion: b.State.FSMVersion(),
		Layouts: len(b.State.Layouts()), Sequences: b.State.SequenceCount(), ObservedMS: b.State.Observed(),
	}); err != nil {
		return err
	}
	snapshots := cli.Map(func(s storage.InspectedSnapshot) snapshotDocument {
		d := snapshotDocument{ID: s.ID, Index: s.Index, Term: s.Term, Bytes: s.Bytes, Configuration: cli.Map(serverOf, s.Configuration)}
		if s.Problem != nil {
			d.Problem = redact.Text(s.Problem.Error())
		}
		return d
	}, in.Snapshots)
	if len(problems) > 0 {
		if err := w.add("directory/problems.txt", []byte(strings.Join(problems, "\n")+"\n")); err != nil {
			return err
		}
	}
	return errors.Join(
		w.addJSON("directory/identity.json", identityDocument{
			MemberID: in.MemberID, ClusterID: in.ClusterID, Starts: in.Starts, HeldTerm: in.HeldTerm, HeldLog: in.HeldLog, Secured: in.Secured,
		}),
		w.addJSON("directory/log.json", logDocument{
			PageBytes: in.PageBytes, Pages: in.Pages, FirstIndex: in.FirstIndex, LastIndex: in.LastIndex, FirstTerm: in.FirstTerm,
			LastTerm: in.LastTerm, Entries: in.Entries, CurrentTerm: in.CurrentTerm, VotedTerm: in.VotedTerm, VotedFor: in.VotedFor,
			ConfigurationIndex: in.ConfigurationIndex, Configuration: cli.Map(serverOf, in.Configuration),
		}),
		w.addJSON("directory/snapshots.json", snapshots),
		w.addJSON("directory/disk.json", in.Usage),
	)
}

func serverOf(s raft.Server) server {
	return server{ID: string(s.ID), Address: string(s.Address), Voter: s.Suffrage == raft.Voter}
}
