package backup

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/backup"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Summary is the document of a backup.
type Summary struct {
	File             string   `json:"file"`
	Cluster          string   `json:"clusterId"`
	Index            uint64   `json:"index,string"`
	Term             uint64   `json:"term,string"`
	TakenAtMS        int64    `json:"takenAtMs,string"`
	Source           string   `json:"source"` // member, stale or directory
	MemberID         string   `json:"memberId"`
	Member           string   `json:"member"` // name
	Members          []Member `json:"members"`
	MaxWindowMS      int64    `json:"maxWindowMs,string"`
	MaxClockOffsetMS int64    `json:"maxClockOffsetMs,string"`
	ObservedAtMS     int64    `json:"observedClockAtMs,string"`
	FSMVersion       uint32   `json:"fsmVersion"`
	Layouts          int      `json:"layouts"`
	Sequences        int      `json:"sequences"`
	Digest           string   `json:"digest"` // SHA-256 of the state
	Bytes            int64    `json:"bytes,string"`
	SHA256           string   `json:"sha256"`
	Latest           bool     `json:"latest"` // latest inspected backup of its cluster
}

// Member is a server of the cluster at the time of a backup.
type Member struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	RaftAddress string `json:"raftAddress"`
	APIAddress  string `json:"apiAddress"`
	Voter       bool   `json:"voter"`
}

func summarize(file string, b *backup.Backup) Summary {
	h, digest := b.Header, b.State.Digest()
	return Summary{
		File: file, Cluster: h.GetClusterId(), Index: h.GetIndex(), Term: h.GetTerm(), TakenAtMS: h.GetTakenAtMs(),
		Source:   strings.ToLower(strings.TrimPrefix(h.GetSource().String(), "BACKUP_SOURCE_")),
		MemberID: h.GetMemberId(), Member: h.GetMemberName(),
		Members: cli.Map(func(m *commandv1.BackupMember) Member {
			return Member{ID: m.GetId(), Name: m.GetName(), RaftAddress: m.GetRaftAddress(), APIAddress: m.GetApiAddress(), Voter: m.GetVoter()}
		}, h.GetMembers()),
		MaxWindowMS: h.GetMaxWindowMs(), MaxClockOffsetMS: h.GetMaxClockOffsetMs(), ObservedAtMS: b.State.Observed(),
		FSMVersion: b.State.FSMVersion(), Layouts: len(b.State.Layouts()), Sequences: b.State.SequenceCount(),
		Digest: hex.EncodeToString(digest[:]), Bytes: b.Bytes, SHA256: hex.EncodeToString(b.SHA256[:]),
	}
}

// record returns a block with all fields of the summary.
func (s Summary) record() cli.Block {
	from := s.MemberID
	if s.Member != "" {
		from = fmt.Sprintf("%s (%s)", s.Member, s.MemberID)
	}
	members := cli.Map(func(m Member) string {
		text := m.ID
		if m.Name != "" {
			text = m.Name
		}
		if !m.Voter {
			text += " (nonvoter)"
		}
		return text + " at " + m.RaftAddress
	}, s.Members)
	sum := s.SHA256
	if s.Bytes == 0 { // a directory
		sum = ""
	}
	return cli.Record(
		"File", s.File,
		"Cluster", s.Cluster,
		"State", fmt.Sprintf("index %d, term %d", s.Index, s.Term),
		"Taken at", cli.Stamp(s.TakenAtMS),
		"Source", s.Source,
		"Member", from,
		"Members", strings.Join(members, ", "),
		"Observed clock", cli.StampKnown(s.ObservedAtMS),
		"Windows", "up to "+cli.Milliseconds(s.MaxWindowMS),
		"Clock offset", "up to "+cli.Milliseconds(s.MaxClockOffsetMS),
		"Commands", s.FSMVersion,
		"Layouts", s.Layouts,
		"Sequences", s.Sequences,
		"Digest", s.Digest,
		"SHA-256", sum,
	)
}
