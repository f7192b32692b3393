package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
)

// The media types of the OCI specification.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor refers to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

// loaded is the manifest that "docker load" reads before Docker 25, which does not know OCI's index.
type loaded struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// blobs holds the blobs of an archive, in order.
type blobs []entry

// add adds a blob and returns its descriptor.
func (b *blobs) add(mediaType string, content []byte) descriptor {
	digest := digestOf(content)
	*b = append(*b, entry{name: pathOf(digest), mode: 0o644, content: content})
	return descriptor{MediaType: mediaType, Digest: digest, Size: len(content)}
}

// addJSON adds a document as JSON and returns its descriptor.
func (b *blobs) addJSON(mediaType string, document any) (descriptor, error) {
	content, err := json.Marshal(document)
	if err != nil {
		return descriptor{}, err
	}
	return b.add(mediaType, content), nil
}

func digestOf(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

// pathOf returns the path of a blob in an archive.
func pathOf(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

// build returns an image as an archive of OCI's image layout, which Docker loads too. go-containerregistry writes an archive for
// Docker or a directory of the layout, and no archive that is both.
func build(r release, c contents) ([]byte, error) {
	layer, err := archived(files(c), r.created)
	if err != nil {
		return nil, err
	}
	packed, err := compressed(layer)
	if err != nil {
		return nil, err
	}
	var all blobs
	m := manifest{SchemaVersion: 2, MediaType: typeManifest, Layers: []descriptor{all.add(typeLayer, packed)}}
	if m.Config, err = all.addJSON(typeConfig, newImage(r, digestOf(layer))); err != nil {
		return nil, err
	}
	described, err := all.addJSON(typeManifest, m)
	if err != nil {
		return nil, err
	}
	described.Platform = &platform{Architecture: r.arch, OS: "linux"}
	described.Annotations = map[string]string{
		"org.opencontainers.image.ref.name": r.tag(),
		"io.containerd.image.name":          "docker.io/library/snowraft:" + r.tag(),
	}
	top, err := json.Marshal(index{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{described}})
	if err != nil {
		return nil, err
	}
	docker, err := json.Marshal([]loaded{{Config: pathOf(m.Config.Digest), RepoTags: []string{"snowraft:" + r.tag()}, Layers: []string{pathOf(m.Layers[0].Digest)}}})
	if err != nil {
		return nil, err
	}
	return archived(append([]entry{
		{name: "oci-layout", mode: 0o644, content: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{name: "index.json", mode: 0o644, content: top},
		{name: "manifest.json", mode: 0o644, content: docker},
		{name: "blobs/", mode: 0o755},
		{name: "blobs/sha256/", mode: 0o755},
	}, all...), r.created)
}
