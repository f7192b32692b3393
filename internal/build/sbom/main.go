// Command sbom writes the software bill of materials of a release: the Go modules in its programs, with their
// licenses. It reads the modules from the programs, so it lists the modules that they contain and not the requirements of go.mod.
//
// cyclonedx-gomod 1.10 writes a bill per program and no texts of licenses. It finds no license of some modules and of Go's library,
// and its only time is the present.
//
//	sbom -version v1.2.3 -time UNIX -bom FILE -licenses FILE PROGRAM...
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	version := flags.String("version", "", "version of the release")
	unix := flags.Int64("time", 0, "Unix time of the commit")
	bomPath := flags.String("bom", "", "file for the bill of materials, CycloneDX JSON; needs -version and -time")
	licensesPath := flags.String("licenses", "", "file for the texts of the licenses")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 || *licensesPath == "" || *bomPath != "" && (*version == "" || *unix == 0) {
		return fmt.Errorf("expected -licenses and at least one program, and with -bom also -version and -time")
	}
	modules, err := modulesOf(flags.Args())
	if err != nil {
		return err
	}
	if err := readLicenses(modules); err != nil {
		return err
	}
	if err := os.WriteFile(*licensesPath, licenseTexts(modules), 0o644); err != nil { //nolint:gosec // a file of a release is for everyone
		return err
	}
	if *bomPath == "" {
		return nil
	}
	bom, err := json.MarshalIndent(newBOM(*version, time.Unix(*unix, 0).UTC(), modules), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(*bomPath, append(bom, '\n'), 0o644) //nolint:gosec // a file of a release is for everyone
}

// module is a Go module in a program.
type module struct {
	path, version, sum string
	platforms          []string // such as linux/amd64; sorted
	licenses           []string // SPDX identifiers; sorted
	texts              []string // texts of the license files
}

// modulesOf returns the modules in the programs and Go's standard library, sorted by path.
func modulesOf(programs []string) ([]*module, error) {
	byPath := make(map[string]*module)
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, err
		}
		settings := make(map[string]string)
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		platform := settings["GOOS"] + "/" + settings["GOARCH"]
		found := []*module{{path: standardLibrary, version: strings.TrimPrefix(info.GoVersion, "go")}}
		for _, d := range info.Deps {
			if d.Replace != nil {
				d = d.Replace
			}
			found = append(found, &module{path: d.Path, version: d.Version, sum: d.Sum})
		}
		for _, m := range found {
			known := byPath[m.path]
			switch {
			case known == nil:
				byPath[m.path], known = m, m
			case known.version != m.version:
				return nil, fmt.Errorf("%s: programs have versions %s and %s; build all from one commit with one Go", m.path, known.version, m.version)
			}
			if !slices.Contains(known.platforms, platform) {
				known.platforms = append(known.platforms, platform)
			}
		}
	}
	modules := make([]*module, 0, len(byPath))
	for _, m := range byPath {
		slices.Sort(m.platforms)
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b *module) int { return strings.Compare(a.path, b.path) })
	return modules, nil
}
