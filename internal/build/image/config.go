package main

import (
	"strings"
	"time"
)

const (
	user = 65532 // has no name, and is not a user of common hosts
	data = "/var/lib/snowraft"
)

// release describes the build in an image.
type release struct {
	version  string
	revision string    // commit
	created  time.Time // time of the commit, not of the build: equal commits make equal images
	arch     string
}

// tag returns the tag of the image: the version without v, the form that charts use.
func (r release) tag() string { return strings.TrimPrefix(r.version, "v") }

// image is the configuration of an image in the form of Docker and the OCI specification.
type image struct {
	Created      time.Time `json:"created"`
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Config       settings  `json:"config"`
	RootFS       rootFS    `json:"rootfs"`
	History      []step    `json:"history"`
}

// settings holds the settings of containers of the image.
type settings struct {
	User         string
	Env          []string
	Entrypoint   []string
	Cmd          []string
	ExposedPorts map[string]struct{}
	Volumes      map[string]struct{}
	Labels       map[string]string
	// Healthcheck is an addition of Docker that the OCI specification lacks. Podman ignores it in images of OCI's media types.
	Healthcheck healthcheck
}

// healthcheck is a command that exits with 0 while the container is healthy.
type healthcheck struct {
	Test                           []string
	Interval, Timeout, StartPeriod time.Duration // ns in JSON
	Retries                        int
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type step struct {
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
}

// newImage returns the configuration of an image with one layer. A test compares it with deploy/docker/Dockerfile.
func newImage(r release, diffID string) image {
	ports := make(map[string]struct{})
	for _, port := range []string{"7700", "7701", "7702", "7703", "7704", "7609"} {
		ports[port+"/tcp"] = struct{}{}
	}
	ports["7703/udp"] = struct{}{} // gossip
	return image{
		Created: r.created, Architecture: r.arch, OS: "linux",
		Config: settings{
			User: "65532:65532",
			Env:  []string{"PATH=/", "SNOWRAFT_DATA_DIR=" + data},
			// The image has no shell, so both are lists of arguments.
			Entrypoint: []string{"/snowraft"}, Cmd: []string{"serve"},
			ExposedPorts: ports,
			Volumes:      map[string]struct{}{data: {}},
			Labels: map[string]string{
				"org.opencontainers.image.title":         "snowraft",
				"org.opencontainers.image.description":   "Unique, time-ordered IDs from a highly available cluster",
				"org.opencontainers.image.url":           "https://github.com/snowraft/snowraft",
				"org.opencontainers.image.source":        "https://github.com/snowraft/snowraft",
				"org.opencontainers.image.documentation": "https://github.com/snowraft/snowraft/blob/main/docs/docker.md",
				"org.opencontainers.image.licenses":      "Apache-2.0",
				"org.opencontainers.image.version":       r.version,
				"org.opencontainers.image.revision":      r.revision,
				"org.opencontainers.image.created":       r.created.Format(time.RFC3339),
			},
			Healthcheck: healthcheck{
				Test:     []string{"CMD", "/snowraft", "health"},
				Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: 10 * time.Second, Retries: 3,
			},
		},
		RootFS:  rootFS{Type: "layers", DiffIDs: []string{diffID}},
		History: []step{{Created: r.created, CreatedBy: "make image"}},
	}
}
