package cluster

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/events"
)

// reported returns the lines that a reporter logs at a sighting, without their times.
func reported(r *reporter, s sighting, at time.Duration) string {
	var buf bytes.Buffer
	r.events = events.Discard
	r.logger = slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	r.report(s, at)
	return strings.TrimSpace(buf.String())
}

func TestReporterLogsChangesOnce(t *testing.T) {
	t.Parallel()
	a, b := Member{ID: "1", Name: "a"}, Member{ID: "2", Address: "h:7702"}
	var r reporter
	for i, c := range []struct {
		sighting
		at   time.Duration
		want string
	}{
		{sighting{}, 1, ""},
		{sighting{leader: a, term: 2, quorum: Quorum{3, 3}}, 2,
			`level=INFO msg="leader changed" leader=a leader_id=1 term=2` + "\n" + `level=INFO msg="voters changed" voters=3 alive=3 tolerates=1`},
		{sighting{leader: a, term: 2, quorum: Quorum{3, 3}}, 3, ""},
		{sighting{term: 3, quorum: Quorum{3, 2}}, 4, `level=WARN msg="voters changed; another failure loses quorum" voters=3 alive=2 tolerates=0`},
		{sighting{leader: b, term: 3, quorum: Quorum{3, 2}}, 5, `level=INFO msg="leader changed" leader=h:7702 leader_id=2 term=3`},
		{sighting{leader: b, term: 4, quorum: Quorum{3, 1}}, 6,
			`level=INFO msg="leader changed" leader=h:7702 leader_id=2 term=4` + "\n" + `level=WARN msg="voters lost; quorum needs more" voters=3 alive=1 tolerates=0 needed=2`},
		{sighting{leader: b, term: 4, quorum: Quorum{3, 1}, twins: twins{"c", "1 and 2"}}, 6,
			`level=WARN msg="several members have the same name; restart one with another --name, or remove the member that was replaced" name=c peer_ids="1 and 2"`},
		{sighting{leader: b, term: 4, quorum: Quorum{3, 1}, twins: twins{"c", "1 and 2"}}, 6, ""},
		{sighting{leader: b, term: 4, quorum: Quorum{3, 2}}, 7, `level=INFO msg="voters changed" voters=3 alive=2 tolerates=0`},
	} {
		if got := reported(&r, c.sighting, c.at); got != c.want {
			t.Errorf("sighting %d logs\n%s\nwant\n%s", i, got, c.want)
		}
	}
}

func TestQuorumIsNotReportedLostWhileNodeSettles(t *testing.T) {
	t.Parallel()
	lost, alive := Quorum{3, 1}, Quorum{3, 2}
	for name, c := range map[string]struct {
		seen, want []Quorum // one per second, from 1 s
	}{
		"reached":   {[]Quorum{lost, alive, lost}, []Quorum{{}, alive, lost}},
		"unreached": {[]Quorum{{}, lost, lost}, []Quorum{{}, {}, lost}},
	} {
		s := settling{until: 3 * time.Second}
		for i, q := range c.seen {
			if got := s.quorum(q, time.Duration(i+1)*time.Second); got != c.want[i] {
				t.Errorf("%s: quorum() = %v after %d s, want %v", name, got, i+1, c.want[i])
			}
		}
	}
}

func TestReporterLogsAbsenceOfLeaderAtIntervals(t *testing.T) {
	t.Parallel()
	for text, s := range map[string]sighting{
		`level=INFO msg="cluster not joined; retrying" reason="no member reached"`:                              {seeking: "no member reached"},
		`level=WARN msg="leader unknown; waiting for an election" reason="no leader for 3s: b does not answer"`: {outage: "no leader for 3s: b does not answer"},
	} {
		var r reporter
		var at []int
		for second := 1; second <= 300; second++ {
			switch got := reported(&r, s, time.Duration(second)*time.Second); got {
			case text:
				at = append(at, second)
			case "":
			default:
				t.Fatalf("after %d s it logs %s", second, got)
			}
		}
		want := []int{4, 14, 24, 34, 44, 54, 64, 124, 184, 244}
		if s.seeking != "" {
			want = nil
			for second := 4; second <= 300; second += 10 {
				want = append(want, second)
			}
		}
		if !slices.Equal(at, want) {
			t.Errorf("%s: logged at seconds %v, want %v", text, at, want)
		}
		if reported(&r, sighting{}, 301*time.Second) != "" || reported(&r, s, 302*time.Second) != "" || reported(&r, s, 304*time.Second) != "" {
			t.Errorf("%s: logged again as soon as the next absence began", text)
		}
	}
}
