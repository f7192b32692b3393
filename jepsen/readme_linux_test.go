package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/scenario"
	"github.com/snowraft/snowraft/jepsen/schedule"
	"github.com/snowraft/snowraft/jepsen/workload"
)

// TestReadmeNamesAll checks that README.md names each workload, nemesis, scenario and kept schedule.
func TestReadmeNamesAll(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range workload.All() {
		names = append(names, w.Name)
	}
	for _, k := range nemesis.Kinds() {
		names = append(names, k.Name)
	}
	for _, s := range scenario.All() {
		names = append(names, s.Name)
	}
	schedules, err := filepath.Glob("schedules/*.jsonl")
	if err != nil || len(schedules) == 0 {
		t.Errorf("Glob() = %v, %v, want the kept schedules", schedules, err)
	}
	for _, file := range schedules {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".jsonl"))
	}
	for _, name := range names {
		if !strings.Contains(string(raw), "`"+name+"`") {
			t.Errorf("README.md does not name %s", name)
		}
	}
}

// TestKeptSchedulesCanBePlayed checks that all names in the schedules next to README.md exist.
func TestKeptSchedulesCanBePlayed(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("schedules/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		p, err := schedule.Read(file)
		if err != nil || p.Members == 0 || len(p.Workloads) == 0 {
			t.Errorf("Read(%s) = %+v, %v, want members and workloads", file, p.Header, err)
		}
		for _, name := range p.Workloads {
			if _, err := workload.Choose(name); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
		for _, e := range p.Events {
			if _, err := nemesis.Named(e.Fault); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}
