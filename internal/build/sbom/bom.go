package main

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// mainModule is the path of this module, and mainLicense its license.
const (
	mainModule  = "github.com/snowraft/snowraft"
	mainLicense = "Apache-2.0"
)

// bom is a bill of materials in the form of CycloneDX 1.6.
type bom struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	SerialNumber string       `json:"serialNumber"`
	Version      int          `json:"version"` // version of the document
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp time.Time `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string          `json:"type"`
	Ref        string          `json:"bom-ref"`
	Name       string          `json:"name"`
	Version    string          `json:"version"`
	Licenses   []licenseChoice `json:"licenses"`
	PURL       string          `json:"purl"`
	Properties []property      `json:"properties,omitempty"`
}

type licenseChoice struct {
	License license `json:"license"`
}

type license struct {
	ID string `json:"id"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// newBOM returns the bill of materials of a release. Equal releases get equal serial numbers.
func newBOM(version string, at time.Time, modules []*module) bom {
	release := component{
		Type: "application", Name: mainModule, Version: version, PURL: purl(mainModule, version), Ref: purl(mainModule, version),
		Licenses: []licenseChoice{{license{mainLicense}}},
	}
	serial := uuid.NewSHA1(uuid.NameSpaceURL, []byte(release.PURL+" "+at.Format(time.RFC3339)))
	b := bom{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", SpecVersion: "1.6", SerialNumber: serial.URN(), Version: 1,
		Metadata: metadata{Timestamp: at, Component: release},
	}
	all := dependency{Ref: release.Ref}
	for _, m := range modules {
		c := component{Type: "library", Name: m.path, Version: m.version, PURL: purl(m.path, m.version), Ref: purl(m.path, m.version)}
		for _, id := range m.licenses {
			c.Licenses = append(c.Licenses, licenseChoice{license{id}})
		}
		if m.sum != "" {
			c.Properties = append(c.Properties, property{"snowraft:go:sum", m.sum}) // hash of a tree in go.sum, not of a file
		}
		for _, p := range m.platforms {
			c.Properties = append(c.Properties, property{"snowraft:platform", p})
		}
		b.Components = append(b.Components, c)
		all.DependsOn = append(all.DependsOn, c.Ref)
		b.Dependencies = append(b.Dependencies, dependency{Ref: c.Ref})
	}
	b.Dependencies = append([]dependency{all}, b.Dependencies...)
	return b
}

// purl returns the package URL of a Go module.
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}
