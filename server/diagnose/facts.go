package diagnose

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/internal/apijson"
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

// raftKeys lists the statistics of the Raft library that an archive shows.
var raftKeys = []string{
	"state", "term", "last_log_index", "last_log_term", "commit_index", "applied_index", "fsm_pending", "last_snapshot_index",
	"last_snapshot_term", "latest_configuration_index", "latest_configuration", "num_peers", "last_contact", "protocol_version",
}

// raft writes the statistics of Raft, and of the followers of a leader.
func (c *Collector) raft(b *buffer) error {
	s := c.Member.Node().Statistics()
	maps.DeleteFunc(s.Raft, func(key, _ string) bool { return !slices.Contains(raftKeys, key) })
	return document(s)(b)
}

// disk writes the sizes of the data directory, in bytes. With an error, it writes those that could be read.
func (c *Collector) disk(b *buffer) error {
	if c.DataDir == "" {
		return errors.New("the member has no data directory")
	}
	u, err := storage.UsageOf(c.DataDir)
	return errors.Join(err, document(u)(b))
}
