package trust

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func lines(t *testing.T, text string) (all []AuditLine) {
	t.Helper()
	for text := range strings.Lines(text) {
		var line AuditLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	return all
}

func TestAuditLogLimitsRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var file strings.Builder
		log := NewAuditLog(&file, slog.New(slog.DiscardHandler))
		for range auditBurst + 50 {
			log.Write(AuditLine{Actor: "anonymous", Outcome: AuditRefused})
		}
		log.Write(AuditLine{Actor: "admin", Outcome: AuditDone, Index: 7, Before: json.RawMessage(`{"a":1}`)})
		time.Sleep(time.Second)
		log.Write(AuditLine{Actor: "anonymous", Outcome: AuditRefused})
		got := lines(t, file.String())
		if len(got) != auditBurst+2 {
			t.Fatalf("%d lines, want %d", len(got), auditBurst+2)
		}
		if done := got[auditBurst]; done.Suppressed != 50 || done.Index != 7 || string(done.Before) != `{"a":1}` {
			t.Errorf("line %+v, want 50 suppressed before it", done)
		}
		if last := got[auditBurst+1]; last.Suppressed != 0 || last.Outcome != AuditRefused {
			t.Errorf("line %+v", last)
		}
	})
}

func TestAuditLogLimitsFailuresOfAnActor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var file strings.Builder
		log := NewAuditLog(&file, slog.New(slog.DiscardHandler))
		for range auditBurst + 50 {
			log.Write(AuditLine{Actor: "token 17 (billing)", Outcome: AuditFailed})
		}
		log.Write(AuditLine{Actor: "admin", Outcome: AuditFailed})
		got := lines(t, file.String())
		if len(got) != auditBurst+1 || got[auditBurst].Actor != "admin" || got[auditBurst].Suppressed != 50 {
			t.Errorf("%d lines, the last %+v", len(got), got[len(got)-1])
		}
	})
}

func TestAuditLinesAreShort(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	log := NewAuditLog(&file, slog.New(slog.DiscardHandler))
	for _, text := range []string{strings.Repeat("\x01", 60_000), strings.Repeat("é", 60_000), strings.Repeat("\xff", 60_000), "orders/eu"} {
		file.Reset()
		log.Write(AuditLine{Actor: "admin", Outcome: AuditDone, Resource: text, Reason: text, Before: json.RawMessage(`"` + strings.Repeat("b", maxAuditState) + `"`), After: json.RawMessage(`{"a":1}`)})
		got := lines(t, file.String())[0]
		if len(file.String()) > 2000 || string(got.Before) != `{"clipped":8194}` || string(got.After) != `{"a":1}` {
			t.Errorf("%d bytes: %s", len(file.String()), &file)
		}
		if len(text) < maxAuditText && (got.Resource != text || got.Reason != text) {
			t.Errorf("line %+v, want %q whole", got, text)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAuditLineFallsBackToTheLog(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	NewAuditLog(broken{}, logger).Write(AuditLine{Actor: "admin", Method: "snowraft.v1.ClusterService/Leave", Outcome: AuditDone})
	NewAuditLog(nil, logger).Write(AuditLine{Actor: "token 17 (billing)", Outcome: AuditFailed, Reason: "NO_LEADER"})
	for _, want := range []string{"disk full", `"actor":"admin"`, `"method":"snowraft.v1.ClusterService/Leave"`, `"actor":"token 17 (billing)"`, `"reason":"NO_LEADER"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log %s, want %s", &log, want)
		}
	}
}

// Programs that read the audit log rely on these names.
func TestAuditLineHasItsFields(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(`{}`)
	line, err := json.Marshal(AuditLine{
		Actor: "admin", Address: "a", Method: "m", Resource: "r", Before: raw, After: raw, Index: 1, Outcome: AuditDone, Reason: "w", Suppressed: 2,
	})
	want := `{"time":"0001-01-01T00:00:00Z","actor":"admin","address":"a","method":"m","resource":"r","before":{},"after":{},` +
		`"index":1,"outcome":"done","reason":"w","suppressed":2}`
	if err != nil || string(line) != want {
		t.Errorf("a line is %s, %v, want %s", line, err, want)
	}
}
