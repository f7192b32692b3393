package diagnose

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/clock"
)

// document returns a function that writes v as JSON.
func document(v any) func(*buffer) error {
	return func(b *buffer) error {
		raw, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		_, err = b.Write(append(raw, '\n'))
		return err
	}
}

// message returns a function that writes a message in the JSON form of the API.
func message(m proto.Message) func(*buffer) error {
	return func(b *buffer) error {
		raw, err := apijson.Marshal(m)
		if err != nil {
			return err
		}
		return document(json.RawMessage(raw))(b)
	}
}

// About is the document of a process.
type About struct {
	Member     string            `json:"member,omitempty"` // name
	Version    string            `json:"version"`
	TakenAtMS  int64             `json:"takenAtMs,string,omitempty"`
	UptimeMS   int64             `json:"uptimeMs,string,omitempty"`
	Log        string            `json:"log,omitempty"` // place of the member's log, which no archive includes
	Processors int               `json:"processors"`    // processors that Go uses
	Go         string            `json:"go"`
	Build      map[string]string `json:"build"`
	Modules    []string          `json:"modules"`
}

// buildSettings lists the settings of a build that an archive shows. Other settings may hold paths of the build machine.
var buildSettings = []string{"-tags", "-race", "CGO_ENABLED", "GOARCH", "GOOS", "GOAMD64", "GOARM64", "vcs.revision", "vcs.time", "vcs.modified"}

// Program describes this program.
func Program(version string) About {
	a := About{Version: version, Processors: runtime.GOMAXPROCS(0), Go: runtime.Version(), Build: make(map[string]string)}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return a
	}
	for _, s := range info.Settings {
		if slices.Contains(buildSettings, s.Key) {
			a.Build[s.Key] = s.Value
		}
	}
	for _, m := range info.Deps {
		a.Modules = append(a.Modules, m.Path+" "+m.Version)
	}
	return a
}

func (c *Collector) about() About {
	now := c.Member.Clock().Now()
	a := Program(c.Version)
	a.Member, a.TakenAtMS, a.UptimeMS = c.Name, now.Wall, now.Mono
	a.Log = fmt.Sprintf("standard error of process %d; on hosts with systemd: journalctl _PID=%[1]d", os.Getpid())
	return a
}

type clockFacts struct {
	WallMS          int64       `json:"wallMs,string"`
	MonotonicMS     int64       `json:"monotonicMs,string"`
	ObservedClockMS int64       `json:"observedClockMs,string"`
	BaseMS          int64       `json:"baseMs,string"` // wall clock minus monotonic clock
	ReferenceBaseMS int64       `json:"referenceBaseMs,string"`
	Settled         bool        `json:"settled"`
	Disputed        bool        `json:"disputed"`
	Alone           bool        `json:"alone"`
	SuspendedMS     int64       `json:"suspendedMs,string"`
	Peers           []peerClock `json:"peers"`
}

type peerClock struct {
	ID     string `json:"id"`
	BaseMS int64  `json:"baseMs,string"`
	AgeMS  int64  `json:"ageMs,string"`
	Voter  bool   `json:"voter"`
}

func clockOf(b clock.Bases) clockFacts {
	f := clockFacts{
		WallMS: b.Now.Wall, MonotonicMS: b.Now.Mono, ObservedClockMS: b.Observed, BaseMS: b.Own, ReferenceBaseMS: b.Reference,
		Settled: b.Settled, Disputed: b.Disputed, Alone: b.Alone, SuspendedMS: b.Suspended.Milliseconds(), Peers: []peerClock{},
	}
	for id, p := range b.Peers {
		f.Peers = append(f.Peers, peerClock{ID: id, BaseMS: p.Base, AgeMS: p.Age.Milliseconds(), Voter: p.Voter})
	}
	slices.SortFunc(f.Peers, func(a, b peerClock) int { return strings.Compare(a.ID, b.ID) })
	return f
}

type raftFacts struct {
	Raft      map[string]string  `json:"raft"`
	Followers []followerProgress `json:"followers"`
}

type followerProgress struct {
	ID        string `json:"id"`
	LastIndex uint64 `json:"lastIndex,string"`
	AgeMS     int64  `json:"ageMs,string"`
}

// raftKeys lists the statistics of the Raft library that an archive shows.
var raftKeys = []string{
	"state", "term", "last_log_index", "last_log_term", "commit_index", "applied_index", "fsm_pending", "last_snapshot_index",
	"last_snapshot_term", "latest_configuration_index", "latest_configuration", "num_peers", "last_contact", "protocol_version",
}

func raftOf(s cluster.Statistics) raftFacts {
	f := raftFacts{Raft: make(map[string]string), Followers: []followerProgress{}}
	for _, key := range raftKeys {
		if v, ok := s.Raft[key]; ok {
			f.Raft[key] = v
		}
	}
	for _, p := range s.Followers {
		f.Followers = append(f.Followers, followerProgress{ID: p.ID, LastIndex: p.Last, AgeMS: p.Age.Milliseconds()})
	}
	slices.SortFunc(f.Followers, func(a, b followerProgress) int { return strings.Compare(a.ID, b.ID) })
	return f
}

// DiskUsage is the document of a data directory's sizes.
type DiskUsage struct {
	Files      []DiskFile `json:"files"`
	OtherFiles int        `json:"otherFiles"` // files that are not Snowraft's
	OtherBytes int64      `json:"otherBytes,string"`
	FreeBytes  uint64     `json:"freeBytes,string"` // free space of the file system
	TotalBytes uint64     `json:"totalBytes,string"`
}

// DiskFile is a file of a data directory.
type DiskFile struct {
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes,string"`
	Modified time.Time `json:"modified"`
}

// Disk returns the sizes of a data directory in bytes. With an error it returns the sizes that could be read.
func Disk(dir string) (DiskUsage, error) {
	if dir == "" {
		return DiskUsage{}, errors.New("the member has no data directory")
	}
	u, err := storage.UsageOf(dir)
	return DiskUsageOf(u), err
}

// DiskUsageOf returns the document of the sizes of a data directory.
func DiskUsageOf(u storage.Usage) DiskUsage {
	d := DiskUsage{Files: []DiskFile{}, OtherFiles: u.Others, OtherBytes: u.OtherBytes, FreeBytes: u.FreeBytes, TotalBytes: u.TotalBytes}
	for _, f := range u.Files {
		d.Files = append(d.Files, DiskFile(f))
	}
	return d
}
