package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// standardLibrary stands for the path of Go's standard library.
const standardLibrary = "std"

// licenseFile matches the names of files that contain a license, or notices that copies must keep.
var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([.-].*)?$`)

// licenses lists the phrases that identify a license, without commas.
var licenses = []struct{ id, phrase, without string }{
	{"Apache-2.0", "Apache License Version 2.0", ""},
	{"BSD-2-Clause", "Redistribution and use in source and binary forms", "Neither the name"},
	{"BSD-3-Clause", "Neither the name", ""},
	{"ISC", "Permission to use copy modify and/or distribute this software for any purpose", ""},
	{"MIT", "Permission is hereby granted free of charge", ""},
	{"MPL-2.0", "Mozilla Public License Version 2.0", ""},
}

// readLicenses reads the license files of the modules from Go's module directories.
func readLicenses(modules []*module) error {
	dirs, err := directories()
	if err != nil {
		return err
	}
	for _, m := range modules {
		dir := dirs[m.path]
		if dir == "" {
			return fmt.Errorf("%s: its source is not here; run \"go mod download\"", m.path)
		}
		if err := m.read(dir); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return nil
}

// directories returns the source directories of modules by module path.
func directories() (map[string]string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	list, err := exec.Command("go", "list", "-m", "-f", "{{with .Replace}}{{.Path}}{{else}}{{.Path}}{{end}}\t{{.Dir}}", "all").Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m all: %w", err)
	}
	dirs := map[string]string{standardLibrary: strings.TrimSpace(string(root))}
	for line := range strings.Lines(string(list)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		dirs[path] = dir
	}
	return dirs, nil
}

// read reads the license files in the directory of a module.
func (m *module) read(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries { // sorted by name
		if e.IsDir() || !licenseFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		m.texts = append(m.texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
		for _, id := range identify(string(text)) {
			if !slices.Contains(m.licenses, id) {
				m.licenses = append(m.licenses, id)
			}
		}
	}
	if len(m.licenses) == 0 {
		return fmt.Errorf("no known license in %s; add its text to internal/build/sbom/licenses.go", dir)
	}
	slices.Sort(m.licenses)
	return nil
}

// identify returns the SPDX identifiers of the licenses in a text.
func identify(text string) (ids []string) {
	words := strings.Join(strings.Fields(strings.ReplaceAll(text, ",", " ")), " ")
	for _, l := range licenses {
		if contains(words, l.phrase) && (l.without == "" || !contains(words, l.without)) {
			ids = append(ids, l.id)
		}
	}
	return ids
}

func contains(text, phrase string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(phrase))
}

// licenseTexts returns the license texts of all modules as one text.
func licenseTexts(modules []*module) []byte {
	var b bytes.Buffer
	fmt.Fprint(&b, "Snowraft contains the Go modules below, under these licenses.\n")
	for _, m := range modules {
		fmt.Fprintf(&b, "\n%s\n%s %s (%s)\n%[1]s\n\n", strings.Repeat("=", 80), m.path, m.version, strings.Join(m.licenses, ", "))
		fmt.Fprintln(&b, strings.Join(m.texts, "\n\n"))
	}
	return b.Bytes()
}
