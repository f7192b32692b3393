package main

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// version and commit are set when a release is built: -ldflags "-X main.version=v1.2.3 -X main.commit=...".
var version, commit string

// buildInfo holds the source and the toolchain of this program.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// build returns the build information that the Go tool has written into the binary.
func build() buildInfo {
	b := buildInfo{Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if b.Commit != "" {
		b.Commit += dirty
	}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = "devel"
	}
	return b
}

func newVersion(a *cli.App) *cobra.Command {
	return a.Command(&cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: `Print the version and the build of this program. "snowraft member list" shows the
versions of a cluster's members.`,
		Example: `  snowraft version
  snowraft version -o json`,
	}, func(_ context.Context, out *cli.Printer, _ []string) error {
		b := build()
		return out.Answer(b, cli.Record(
			"Version", b.Version,
			"Commit", b.Commit,
			"Go", b.Go,
			"Platform", b.Platform,
		))
	})
}
