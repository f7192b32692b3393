package main

import (
	"os"
	"path/filepath"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
)

func TestPackWritesTheSameBytes(t *testing.T) {
	t.Parallel()
	first := packed(t, "../snowraft", "1.2.3", "1700000000")
	copied := filepath.Join(t.TempDir(), "chart")
	if err := os.CopyFS(copied, os.DirFS("../snowraft")); err != nil { // other times, other folder
		t.Fatal(err)
	}
	if string(packed(t, copied, "1.2.3", "1700000000")) != string(first) {
		t.Error("two archives of the same sources differ")
	}
	for _, other := range [][2]string{{"1.2.4", "1700000000"}, {"1.2.3", "1700000001"}} {
		if string(packed(t, "../snowraft", other[0], other[1])) == string(first) {
			t.Errorf("version %s at %s: the archive is that of 1.2.3 at 1700000000", other[0], other[1])
		}
	}
}

func packed(t *testing.T, source, version, epoch string) []byte {
	t.Helper()
	path, err := pack(source, version, epoch, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

func TestPackedChartHasAllFilesAndTheVersion(t *testing.T) {
	t.Parallel()
	path, err := pack("../snowraft", "1.2.3", "1700000000", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := filepath.Base(path); got != "snowraft-1.2.3.tgz" {
		t.Errorf("archive %q, want snowraft-1.2.3.tgz", got)
	}
	c, err := loader.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	source, err := loader.Load("../snowraft")
	if err != nil {
		t.Fatal(err)
	}
	if c.Metadata.Version != "1.2.3" || c.Metadata.AppVersion != "1.2.3" {
		t.Errorf("version %s, appVersion %s, want 1.2.3", c.Metadata.Version, c.Metadata.AppVersion)
	}
	if c.Metadata.KubeVersion != source.Metadata.KubeVersion || c.Metadata.Description != source.Metadata.Description {
		t.Errorf("Chart.yaml is %+v, want %+v but for the version", c.Metadata, source.Metadata)
	}
	if len(c.Raw) != len(source.Raw) || len(c.Templates) == 0 || len(c.Schema) == 0 {
		t.Errorf("%d files, want %d", len(c.Raw), len(source.Raw))
	}
}

func TestPackRefusesBadVersionsAndTimes(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "v1.2.3", "07b5896", "1.2 3", "../x"} {
		if _, err := pack("../snowraft", version, "1700000000", t.TempDir()); err == nil {
			t.Errorf("version %q: no error", version)
		}
	}
	if _, err := pack("../snowraft", "1.2.3", "", t.TempDir()); err == nil {
		t.Error("no time: no error")
	}
}
