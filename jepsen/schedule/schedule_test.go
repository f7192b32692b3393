package schedule_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/schedule"
)

func TestReadReturnsWrittenPlan(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "schedule.jsonl")
	want := schedule.Plan{
		Header: schedule.Header{Seed: 1<<64 - 1, Members: 5, Duration: schedule.Duration(time.Minute), Workloads: []string{"ids"}},
		Events: []schedule.Event{
			{At: schedule.Duration(1500 * time.Millisecond), Fault: "kill", On: "leader", Seed: 1<<53 - 1},
			{At: schedule.Duration(time.Second), For: schedule.Duration(time.Millisecond), Fault: "loss", Amount: "30%", How: "drop"},
		},
	}
	if err := schedule.Write(path, want); err != nil {
		t.Fatal(err)
	}
	if got, err := schedule.Read(path); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Read() = %+v, %v, want %+v", got, err, want)
	}
	if err := schedule.Write(path, want); err == nil {
		t.Error("Write() replaced a file")
	}
}

func TestReadRejectsInvalidFiles(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"an unknown field":      `{"seed":1}` + "\n" + `{"at":"1s","fault":"kill","whom":"all"}`,
		"a time without a unit": `{"seed":1}` + "\n" + `{"at":1,"fault":"kill"}`,
		"a time before the run": `{"seed":1}` + "\n" + `{"at":"-1s","fault":"kill"}`,
		"a header as a list":    `[]`,
		"an incomplete event":   `{"seed":1}` + "\n" + `{"at":"1s"`,
	} {
		path := filepath.Join(t.TempDir(), "schedule.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := schedule.Read(path); err == nil {
			t.Errorf("Read() of %s = %+v, want an error", name, p)
		}
	}
}
