package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// write runs the program on the binary of this test and returns its output.
func write(t *testing.T) (bom, licenses []byte) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	b, l := filepath.Join(dir, "bom"), filepath.Join(dir, "licenses")
	if err := run([]string{"-version", "v1.2.3", "-time", "1700000000", "-bom", b, "-licenses", l, self}); err != nil {
		t.Fatal(err)
	}
	if bom, err = os.ReadFile(b); err != nil {
		t.Fatal(err)
	}
	if licenses, err = os.ReadFile(l); err != nil {
		t.Fatal(err)
	}
	return bom, licenses
}

// object is a JSON object that the schema of CycloneDX 1.6 describes.
type object map[string]any

// has checks that an object has all required keys, and only required and optional keys.
func (o object) has(t *testing.T, required, optional string) {
	t.Helper()
	for key := range strings.FieldsSeq(required) {
		if o[key] == nil || o[key] == "" {
			t.Errorf("%v: no %s", o, key)
		}
	}
	for key := range o {
		if !slices.Contains(strings.Fields(required+" "+optional), key) {
			t.Errorf("%v: unknown key %s", o, key)
		}
	}
}

func list(t *testing.T, value any) (objects []object) {
	t.Helper()
	for _, v := range value.([]any) {
		objects = append(objects, v.(map[string]any))
	}
	return objects
}

func TestBOMFollowsTheSchema(t *testing.T) {
	t.Parallel()
	text, _ := write(t)
	var document object
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	document.has(t, "$schema bomFormat specVersion serialNumber version metadata components dependencies", "")
	if document["bomFormat"] != "CycloneDX" || document["specVersion"] != "1.6" || document["version"] != 1.0 {
		t.Errorf("format %v %v, version %v", document["bomFormat"], document["specVersion"], document["version"])
	}
	serial := regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	if !serial.MatchString(document["serialNumber"].(string)) {
		t.Errorf("serialNumber %v", document["serialNumber"])
	}
	about := object(document["metadata"].(map[string]any))
	about.has(t, "timestamp component", "")
	if about["timestamp"] != "2023-11-14T22:13:20Z" {
		t.Errorf("timestamp %v", about["timestamp"])
	}
	release := object(about["component"].(map[string]any))
	if release["type"] != "application" || release["version"] != "v1.2.3" {
		t.Errorf("component %v", release)
	}
	refs := map[any]bool{}
	for _, c := range append(list(t, document["components"]), release) {
		c.has(t, "type name version bom-ref purl licenses", "properties")
		if refs[c["bom-ref"]] {
			t.Errorf("bom-ref %v is not unique", c["bom-ref"])
		}
		refs[c["bom-ref"]] = true
		if purl := c["purl"].(string); !strings.HasPrefix(purl, "pkg:golang/"+c["name"].(string)+"@") {
			t.Errorf("purl %q of %v", purl, c["name"])
		}
		for _, l := range list(t, c["licenses"]) {
			l.has(t, "license", "")
			object(l["license"].(map[string]any)).has(t, "id", "")
		}
	}
	if !refs["pkg:golang/github.com/google/uuid@v1.6.0"] {
		t.Error("github.com/google/uuid is not a component")
	}
	for _, d := range list(t, document["dependencies"]) {
		d.has(t, "ref", "dependsOn")
		on, _ := d["dependsOn"].([]any)
		for _, ref := range append(on, d["ref"]) {
			if !refs[ref] {
				t.Errorf("dependency on %v, which is not a component", ref)
			}
		}
	}
}

func TestOutputIsReproducible(t *testing.T) {
	t.Parallel()
	bom, licenses := write(t)
	bomAgain, licensesAgain := write(t)
	if string(bom) != string(bomAgain) || string(licenses) != string(licensesAgain) {
		t.Error("a second run wrote other bytes")
	}
	for _, text := range []string{"github.com/google/uuid v1.6.0 (BSD-3-Clause)", "Copyright (c) 2009,2014 Google Inc.", "std 1."} {
		if !strings.Contains(string(licenses), text) {
			t.Errorf("the licenses lack %q", text)
		}
	}
}

func TestLicensesAreIdentified(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Apache License\n  Version 2.0, January 2004":                                                             "Apache-2.0",
		"Redistribution and use in source and binary forms, with":                                                 "BSD-2-Clause",
		"Redistribution and use in source and binary forms, with\nNeither the name of":                            "BSD-3-Clause",
		"Permission is hereby granted, free\nof charge":                                                           "MIT",
		"Mozilla Public License, version 2.0":                                                                     "MPL-2.0",
		"Permission is hereby granted, free of charge. Apache License Version 2.0":                                "Apache-2.0 MIT",
		"GNU GENERAL PUBLIC LICENSE":                                                                              "",
		"Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is": "ISC",
	} {
		if got := strings.Join(identify(text), " "); got != want {
			t.Errorf("identify(%q) = %q, want %q", text, got, want)
		}
	}
}
