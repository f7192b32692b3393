package server

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/snowraft/snowraft/cluster"
)

// values returns the values of the metric by reason.
func (h *halts) values(t *testing.T) map[string]float64 {
	t.Helper()
	ch, values := make(chan prometheus.Metric, len(haltReasons)), make(map[string]float64)
	h.collect(ch)
	close(ch)
	for m := range ch {
		var sample dto.Metric
		if err := m.Write(&sample); err != nil {
			t.Fatal(err)
		}
		values[sample.GetLabel()[0].GetValue()] = sample.GetGauge().GetValue()
	}
	return values
}

func TestHaltIsKnownToNextProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if at := openHalts(dir).values(t)["name"]; !math.IsNaN(at) {
		t.Errorf("a member that never halted says %v, want NaN", at)
	}
	openHalts(dir).note(cluster.ErrRemoved, 1_000)
	h := openHalts(dir)
	h.note(cluster.ErrNameTaken, 2_500)
	for what, h := range map[string]*halts{"the process that halts": h, "the next process": openHalts(dir)} {
		values := h.values(t)
		if len(values) != len(haltReasons) || values["name"] != 2.5 || !math.IsNaN(values["removed"]) || !math.IsNaN(values["disk"]) {
			t.Errorf("%s says %v, want 2.5 for the name only", what, values)
		}
	}
	for _, damaged := range []string{"", "{", `{"reason":"mood","at_ms":1}`, `{"reason":"disk","at_ms":-1}`} {
		if err := os.WriteFile(filepath.Join(dir, haltFile), []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		for reason, at := range openHalts(dir).values(t) {
			if !math.IsNaN(at) {
				t.Errorf("the note %q counts as %s at %v", damaged, reason, at)
			}
		}
	}
	// A full disk is a reason to halt, so the note takes no room that the file does not have.
	for range 2 {
		if info, err := os.Stat(filepath.Join(dir, haltFile)); err != nil || info.Size() != haltFileSize {
			t.Errorf("the file of the note: %v, %v, want %d bytes", info, err, haltFileSize)
		}
		h.note(cluster.ErrNameTaken, 2_500)
	}
	inMemory := openHalts("")
	inMemory.note(cluster.ErrNameTaken, 1)
	if inMemory.values(t)["name"] != 0.001 {
		t.Error("a member without a directory forgets why it halts")
	}
}
