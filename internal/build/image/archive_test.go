package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"testing"
)

// untarred returns the entries of a tar archive in order.
func untarred(t *testing.T, r release, archive io.Reader) (all []entry) {
	t.Helper()
	for files := tar.NewReader(archive); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != h.Gid || h.Uname != "" || h.Gname != "" || !h.ModTime.Equal(r.created) {
			t.Errorf("%s belongs to %d:%d (%q, %q) since %v", h.Name, h.Uid, h.Gid, h.Uname, h.Gname, h.ModTime)
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry{name: h.Name, mode: h.Mode, owner: h.Uid, content: content})
	}
}

// opened is an image as a container engine reads it from an archive.
type opened struct {
	config image
	files  []entry
}

// open reads an archive, and fails the test unless each reference leads to a blob of its size and digest.
func open(t *testing.T, r release, archive []byte) (o opened) {
	t.Helper()
	held := make(map[string][]byte)
	for _, e := range untarred(t, r, bytes.NewReader(archive)) {
		held[e.name] = e.content
	}
	parse := func(path string, document any) {
		t.Helper()
		if err := json.Unmarshal(held[path], document); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	blob := func(d descriptor, mediaType string) string {
		t.Helper()
		path := pathOf(d.Digest)
		if d.MediaType != mediaType || len(held[path]) != d.Size || digestOf(held[path]) != d.Digest {
			t.Fatalf("%+v: want %s, and there are %d bytes of digest %s", d, mediaType, len(held[path]), digestOf(held[path]))
		}
		return path
	}
	var layout struct {
		Version string `json:"imageLayoutVersion"`
	}
	if parse("oci-layout", &layout); layout.Version != "1.0.0" {
		t.Errorf("the layout has version %q", layout.Version)
	}
	var top index
	parse("index.json", &top)
	if len(top.Manifests) != 1 || top.Manifests[0].Platform == nil || top.Manifests[0].Platform.Architecture != r.arch {
		t.Fatalf("the index is %+v", top)
	}
	var m manifest
	parse(blob(top.Manifests[0], typeManifest), &m)
	config, layer := blob(m.Config, typeConfig), blob(m.Layers[0], typeLayer)
	parse(config, &o.config)
	var docker []loaded
	parse("manifest.json", &docker)
	if d := docker[0]; d.Config != config || len(d.Layers) != 1 || d.Layers[0] != layer || d.RepoTags[0] != "snowraft:"+r.tag() {
		t.Errorf("Docker loads %+v, want the configuration %s and the layer %s", d, config, layer)
	}
	packed, err := gzip.NewReader(bytes.NewReader(held[layer]))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	if ids := o.config.RootFS.DiffIDs; len(ids) != 1 || ids[0] != digestOf(content) {
		t.Errorf("the layers are %q, want %s", ids, digestOf(content))
	}
	o.files = untarred(t, r, bytes.NewReader(content))
	return o
}

var given = contents{program: []byte("program"), certificates: []byte("certificates"), licenses: []byte("licenses")}

func TestArchiveHoldsTheImage(t *testing.T) {
	t.Parallel()
	archive, err := build(commit, given)
	if err != nil {
		t.Fatal(err)
	}
	o := open(t, commit, archive)
	want := files(given)
	if len(o.files) != len(want) {
		t.Fatalf("the image has %d files, want %d", len(o.files), len(want))
	}
	for i, f := range o.files {
		if w := want[i]; f.name != w.name || f.mode != w.mode || f.owner != w.owner || !bytes.Equal(f.content, w.content) {
			t.Errorf("the image has %+v, want %+v", f, w)
		}
	}
	if o.config.Architecture != "arm64" || o.config.OS != "linux" || !o.config.Created.Equal(commit.created) || len(o.config.History) != 1 {
		t.Errorf("the configuration is %+v", o.config)
	}
	if settings := newImage(commit, "").Config; !reflect.DeepEqual(o.config.Config, settings) {
		t.Errorf("containers run with %+v, want %+v", o.config.Config, settings)
	}
	again, err := build(commit, given)
	if err != nil || !bytes.Equal(archive, again) {
		t.Errorf("a second archive differs (%v)", err)
	}
}
