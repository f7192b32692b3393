package server_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// family holds the metrics of one name.
type family struct {
	kind   string
	labels []string // sorted
}

// scrape is a parsed answer of /metrics.
type scrape struct {
	text     string
	families map[string]*family
	values   map[string]map[string]bool // values by label
}

var (
	typeLine = regexp.MustCompile(`(?m)^# TYPE (snowraft_\w+) (\w+)$`)
	label    = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

func parseMetrics(text string) scrape {
	s := scrape{text, make(map[string]*family), make(map[string]map[string]bool)}
	for _, m := range typeLine.FindAllStringSubmatch(text, -1) {
		f := &family{kind: m[2]}
		s.families[m[1]] = f
		sample := regexp.MustCompile(`(?m)^` + m[1] + `(_bucket|_sum|_count)?(\{.*\})? `)
		for _, labels := range sample.FindAllStringSubmatch(text, -1) {
			for _, l := range label.FindAllStringSubmatch(labels[2], -1) {
				if l[1] == "le" {
					continue
				}
				if !slices.Contains(f.labels, l[1]) {
					f.labels = append(f.labels, l[1])
				}
				if s.values[l[1]] == nil {
					s.values[l[1]] = make(map[string]bool)
				}
				s.values[l[1]][l[2]] = true
			}
		}
		slices.Sort(f.labels)
	}
	return s
}

// has reports whether there is a sample whose line begins with a text.
func (s scrape) has(line string) bool { return strings.Contains("\n"+s.text, "\n"+line) }

// page holds the tables of docs/metrics.md.
type page struct {
	text                string
	ofMember, ofGateway map[string]*family
	labels              map[string]string // values on the page, by label
}

func readPage(t *testing.T) page {
	t.Helper()
	raw, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	p := page{string(raw), make(map[string]*family), make(map[string]*family), make(map[string]string)}
	others := 0
	row := regexp.MustCompile("(?m)^\\| `(snowraft_\\w+)(?:\\{([a-z,]+)\\})?` \\| (\\w+) \\| ([a-z, ]+) \\| [^|]+ \\| [^|]+ \\|$")
	for _, m := range row.FindAllStringSubmatch(p.text, -1) {
		f := &family{kind: m[3]}
		if m[2] != "" {
			f.labels = strings.Split(m[2], ",")
			slices.Sort(f.labels)
		}
		for process := range strings.SplitSeq(m[4], ", ") {
			switch process {
			case "member":
				p.ofMember[m[1]] = f
			case "gateway":
				p.ofGateway[m[1]] = f
			case "worker run": // a test of the command compares these
				if m[4] == process {
					others++
				}
			default:
				t.Errorf("%s is exported by %q, want member, gateway or worker run", m[1], process)
			}
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| (.+) \\|$").FindAllStringSubmatch(p.text, -1) {
		p.labels[m[1]] = m[2]
	}
	if rows := strings.Count(p.text, "\n| `"); rows != len(union(p.ofMember, p.ofGateway))+others+len(p.labels) {
		t.Errorf("metrics.md has %d rows, of which %d metrics and %d labels were read", rows, len(union(p.ofMember, p.ofGateway))+others, len(p.labels))
	}
	return p
}

func union(a, b map[string]*family) map[string]*family {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// compare compares the metrics of a process with the rows of the page.
func (p page) compare(t *testing.T, process string, s scrape, rows map[string]*family) {
	t.Helper()
	for name, f := range s.families {
		row := rows[name]
		if row == nil {
			t.Errorf("a %s exports %s, which metrics.md does not list for it", process, name)
		} else if row.kind != f.kind || !slices.Equal(row.labels, f.labels) {
			t.Errorf("a %s exports %s as %s %v, metrics.md has %s %v", process, name, f.kind, f.labels, row.kind, row.labels)
		}
	}
	for name := range rows {
		if s.families[name] == nil {
			t.Errorf("metrics.md lists %s for a %s, which does not export it", name, process)
		}
	}
	fixed := regexp.MustCompile("^(`[a-z]+`(, )?)+$")
	for name, values := range s.values {
		listed, ok := p.labels[name]
		if !ok {
			t.Errorf("a %s exports the label %s, which metrics.md does not list", process, name)
		}
		for value := range values {
			if fixed.MatchString(listed) && !strings.Contains(listed, "`"+value+"`") {
				t.Errorf("a %s exports %s=%q, metrics.md lists %s", process, name, value, listed)
			}
		}
	}
	problems, err := promlint.New(strings.NewReader(s.text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// asker is a member or a gateway under test.
type asker interface {
	ask(method, path, body string) (int, string)
}

// exercise requests IDs and numbers over every protocol, and makes requests that fail.
func exercise(t *testing.T, a asker, redisAddr, thriftAddr string, ids snowraftv1.IdServiceClient, sequences snowraftv1.SequenceServiceClient) scrape {
	t.Helper()
	for range 2 { // a gateway has a buffer after the first round
		if _, err := ids.GenerateIds(t.Context(), &snowraftv1.GenerateIdsRequest{Count: 3}); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []*snowraftv1.GenerateIdsRequest{{Layout: "none"}, {Count: 2_000_000}} {
		if _, err := ids.GenerateIds(t.Context(), bad); err == nil {
			t.Errorf("GenerateIds(%v) succeeded", bad)
		}
	}
	stream, err := ids.StreamIds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, layout := range []string{"", "", "none"} {
		if err := stream.Send(&snowraftv1.StreamIdsRequest{Id: 1, Request: &snowraftv1.GenerateIdsRequest{Layout: layout}}); err != nil {
			t.Fatal(err)
		}
		if resp, err := stream.Recv(); err != nil || (resp.GetError() == nil) != (layout == "") {
			t.Errorf("StreamIds of layout %q: %v, %v", layout, resp.GetError(), err)
		}
	}
	for name, count := range map[string]uint32{"strict": 5, "relaxed": 7} {
		if _, err := sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: count}); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string]string{"INCR strict": ":", "NOSUCHCOMMAND": "-ERR"} {
		if got := redisLine(t, redisAddr, command); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %s", command, got, want)
		}
	}
	thriftID(t, thriftAddr)
	for _, path := range []string{"/id?count=4", "/id?layout=none", "/nothing", "/v1/status"} {
		a.ask("GET", path, "")
	}
	a.ask("BREW", "/id", "")
	// A request is counted after its answer was sent.
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		_, text := a.ask("GET", "/metrics", "")
		s := parseMetrics(text)
		if time.Since(began) > 10*time.Second || !slices.ContainsFunc(exercised, func(line string) bool { return !s.has(line) }) {
			return s
		}
	}
}

// exercised lists the beginnings of lines that are exported after exercise.
var exercised = []string{
	`snowraft_requests_total{code="OK",method="snowraft.v1.IdService/GenerateIds",protocol="grpc",reason=""} 2`,
	`snowraft_requests_total{code="INVALID_ARGUMENT",method="snowraft.v1.IdService/GenerateIds",protocol="grpc",reason="INVALID_ARGUMENT"} 1`,
	`snowraft_requests_total{code="OK",method="snowraft.v1.IdService/StreamIds",protocol="grpc",reason=""} 2`,
	`snowraft_requests_total{code="NOT_FOUND",method="snowraft.v1.IdService/StreamIds",protocol="grpc",reason="UNKNOWN_LAYOUT"} 1`,
	`snowraft_request_duration_seconds_count{method="snowraft.v1.IdService/StreamIds",protocol="grpc"} 3`,
	`snowraft_requests_total{code="OK",method="GET /v1/status",protocol="http",reason=""} 1`,
	`snowraft_requests_total{code="UNIMPLEMENTED",method="other",protocol="http",reason="METHOD_NOT_ALLOWED"} 1`,
	`snowraft_requests_total{code="INVALID_ARGUMENT",method="other",protocol="redis",reason="INVALID_ARGUMENT"} 1`,
	`snowraft_request_duration_seconds_count{method="snowraft.v1.IdService/GenerateIds",protocol="grpc"} 4`,
	`snowraft_request_duration_seconds_count{method="incr",protocol="redis"} 1`,
	`snowraft_request_duration_seconds_bucket{method="incr",protocol="redis",le="0.00016"} `,
	`snowraft_requests_total{code="OK",method="get_id",protocol="thrift",reason=""} 1`, `snowraft_thrift_ids_issued_total{agent="web"} 1`,
	`snowraft_build_info{version="`, `snowraft_ids_issued_total{layout="default"} 12`,
	`snowraft_numbers_issued_total{mode="relaxed"} 7`, `snowraft_numbers_issued_total{mode="strict"} 6`,
}

// followerLag is the one metric that only the leader exports.
const followerLag = "snowraft_follower_lag_entries"

// secretClients is the one metric that only secured members export, see TestUsesOfTokensAndSecrets.
const secretClients = "snowraft_secret_clients_open"

// The names, types and labels of metrics are promises: a change must change the page as well.
func TestMetricsPageListsWhatIsExported(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3, func(c *server.Config) { c.RedisAddr, c.ThriftAddr, c.Version = "127.0.0.1:0", "127.0.0.1:0", "v1" })
		l, n, g := leader(t, nodes), follower(t, nodes), inFront(t, nodes)
		for name, mode := range map[string]snowraftv1.SequenceMode{
			"strict": snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, "relaxed": snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED,
		} {
			if _, err := n.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: name, Mode: mode, Max: new(int64(1_000_000))}}); err != nil {
				t.Fatal(err)
			}
		}
		n.untilNewest()
		n.createSequence(gapless("invoices"))
		n.reserve("invoices", "order-1")
		p := readPage(t)
		ofMember := exercise(t, n, n.server.RedisAddr(), n.server.ThriftAddr(), n.ids, n.sequences)
		_, text := l.ask("GET", "/metrics", "")
		ofLeader := parseMetrics(text)
		if !ofLeader.has(`snowraft_numbers_issued_total{mode="strict"} 0`) {
			t.Error("the leader counts numbers that its follower issued")
		}
		ofLeader.families = map[string]*family{followerLag: ofLeader.families[followerLag]}
		ofGateway := exercise(t, g, g.RedisAddr(), g.ThriftAddr(), g.ids, g.sequences)
		p.compare(t, "leader", ofLeader, map[string]*family{followerLag: p.ofMember[followerLag]})
		if ofMember.families[followerLag] != nil {
			t.Error("a follower exports the lag of followers")
		}
		delete(p.ofMember, followerLag)
		delete(p.ofMember, secretClients)
		p.compare(t, "member", ofMember, p.ofMember)
		p.compare(t, "gateway", ofGateway, p.ofGateway)

		for process, s := range map[string]scrape{"member": ofMember, "gateway": ofGateway} {
			for _, line := range exercised {
				if !s.has(line) {
					t.Errorf("a %s exports no %s", process, line)
				}
			}
			// Each request is counted once, and texts of callers do not become label values.
			for _, line := range []string{`ClusterService/GetStatus",protocol="grpc"`, `"none"`, "BREW", "nosuchcommand"} {
				if strings.Contains(s.text, line) {
					t.Errorf("a %s exports %s", process, line)
				}
			}
		}
	})
}
