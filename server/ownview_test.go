package server_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

// value returns the value of a sample, given its name with labels.
func (s scrape) value(t *testing.T, sample string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(sample) + ` (\S+)$`).FindStringSubmatch(s.text)
	if m == nil {
		t.Fatalf("no sample %s", sample)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (n *node) scrape() scrape {
	_, text := n.ask("GET", "/metrics", "")
	return parseMetrics(text)
}

// A member that waits for other members reports unknown metrics as NaN, and not as 0.
func TestMetricsOfWaitingMemberAreUnknown(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := newNode(t, "m1", func(cfg *server.Config) { cfg.BootstrapExpect = 3 }).start()
		s := n.scrape()
		for sample, want := range map[string]float64{
			"snowraft_has_leader": 0, "snowraft_leader": 0, "snowraft_ready": 0, "snowraft_leader_changes_total": 0,
			"snowraft_observed_clock_timestamp_seconds": math.NaN(), "snowraft_clock_offset_seconds": math.NaN(),
			"snowraft_last_backup_timestamp_seconds": math.NaN(), "snowraft_certificate_expiry_timestamp_seconds": math.NaN(), "snowraft_token_next_expiry_timestamp_seconds": math.NaN(),
			"snowraft_sequences": math.NaN(), "snowraft_sequences_deleted": math.NaN(), "snowraft_sequences_exhausted": math.NaN(),
			`snowraft_restore_frozen{kind="sequence"}`: math.NaN(), `snowraft_restore_frozen{kind="template"}`: math.NaN(), `snowraft_restore_frozen{kind="past"}`: math.NaN(),
			"snowraft_fsm_version": math.NaN(), `snowraft_members{alive="true",role="voter"}`: math.NaN(), `snowraft_members{alive="false",role="voter"}`: math.NaN(),
			"snowraft_sequences_remaining_ratio_min": math.NaN(), `snowraft_last_halt_timestamp_seconds{reason="disk"}`: math.NaN(),
		} {
			if got := s.value(t, sample); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%s is %v, want %v", sample, got, want)
			}
		}
	})
}

func TestMetricsOfOwnView(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		n.mustGenerate(1)
		for name, most := range map[string]*int64{"tickets": new(int64(1_000_000)), "orders": nil} {
			_, err := n.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{
				Sequence: &snowraftv1.Sequence{Name: name, Max: most, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := n.backup(false); err != nil {
			t.Fatal(err)
		}
		s := n.scrape()
		for sample, want := range map[string]float64{
			"snowraft_has_leader": 1, "snowraft_leader": 1, "snowraft_leader_changes_total": 1, "snowraft_proposals_pending": 0,
			`snowraft_proposals_failed_total{reason="unknown_outcome"}`: 0,
			`snowraft_lane_window_failing{lane="0",layout="default"}`:   0,
		} {
			if got := s.value(t, sample); got != want {
				t.Errorf("%s is %v, want %v", sample, got, want)
			}
		}
		if got := s.value(t, "snowraft_clock_offset_seconds"); !(math.Abs(got) < 0.5) {
			t.Errorf("snowraft_clock_offset_seconds is %v", got)
		}
		for _, sample := range []string{
			"snowraft_log_sync_duration_seconds_count", "snowraft_log_bytes", "snowraft_disk_free_bytes", "snowraft_disk_size_bytes",
			"snowraft_last_backup_timestamp_seconds", `snowraft_lane_serve_until_timestamp_seconds{lane="0",layout="default"}`,
		} {
			if got := s.value(t, sample); !(got > 0) {
				t.Errorf("%s is %v, want more than 0", sample, got)
			}
		}
		left := s.value(t, `snowraft_sequence_remaining_ratio{sequence="tickets"}`)
		if least := s.value(t, "snowraft_sequences_remaining_ratio_min"); left <= 0 || left >= 1 || least != left {
			t.Errorf("part of the numbers that is left: %v, least %v", left, least)
		}
		if strings.Contains(s.text, `sequence="orders"`) {
			t.Error("a sequence without an end has a remaining ratio")
		}
	})
}

// Each refusal of a token counts once, whatever the protocol. Only callers that may read all sequences see names of sequences.
func TestTokenRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startPorts(t, 1, false)
		n := s.nodes[0]
		_, err := snowraftv1.NewSequenceServiceClient(s.admin(n)).CreateSequence(t.Context(),
			&snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "orders", Max: new(int64(9))}})
		if err != nil {
			t.Fatal(err)
		}
		scraper, _ := s.token("scraper", "metrics:read", "seq:read:*")
		base := "http://" + n.server.HTTPAddr()
		stranger := trust.Token{ID: 1, Secret: trust.NewTokenSecret()}.Text()
		faults := map[string]string{"missing": "", "malformed": "x", "unknown": stranger, "scope": scraper}
		for fault, token := range faults {
			call := func(ctx context.Context) error {
				_, err := n.ids.GenerateIds(as(ctx, token), &snowraftv1.GenerateIdsRequest{})
				return err
			}
			if call(t.Context()) == nil {
				t.Errorf("gRPC with a token that is %s is served", fault)
			}
			for _, path := range []string{"/seq/orders", "/v1/ids:generate"} {
				if status, body := ask(t, browser(t), http.MethodPost, base+path, token); status != 401 && status != 403 {
					t.Errorf("%s with a token that is %s: %d %s", path, fault, status, body)
				}
			}
		}
		c := reach(t, n.server.RedisAddr())
		defer c.Close()
		if got := redisSays(t, c, "INCR orders", "AUTH "+stranger, "AUTH "+scraper, "INCR orders"); !strings.HasPrefix(got[3], "-NOPERM ") {
			t.Errorf("Redis: %q", got)
		}
		var text string
		until(t, "all refusals are counted", func() bool {
			_, text = ask(t, browser(t), "GET", base+"/metrics", scraper)
			for fault, want := range map[string]int{"missing": 4, "malformed": 3, "unknown": 4, "scope": 4, "rate": 0, "expired": 0, "disabled": 0} {
				if !parseMetrics(text).has(fmt.Sprintf("snowraft_token_refusals_total{fault=%q} %d\n", fault, want)) {
					return false
				}
			}
			return true
		})
		if !strings.Contains(text, `snowraft_sequence_remaining_ratio{sequence="orders"} 1`) {
			t.Error("a caller that may read sequences gets no names of them")
		}
		if status, text := ask(t, browser(t), "GET", base+"/metrics", ""); status != 200 || strings.Contains(text, "orders") || !strings.Contains(text, "snowraft_sequences_remaining_ratio_min 1") {
			t.Errorf("a caller without a token gets names of sequences, or nothing: %d", status)
		}
	})
}
