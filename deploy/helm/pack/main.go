// Command pack writes the Helm chart as an archive: the same bytes for the same sources, version and time. It
// replaces "helm package", which writes the time of packing and the owner of the files.
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

func main() {
	source := flag.String("chart", "snowraft", "folder of the chart")
	version := flag.String("version", "", "version of the program, such as 1.2.3")
	out := flag.String("out", ".", "folder of the archive")
	flag.Parse()
	path, err := pack(*source, *version, os.Getenv("SOURCE_DATE_EPOCH"), *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
	fmt.Fprintln(os.Stdout, path)
}

// pack writes the archive into the folder out, and returns its path. Its files have the time epoch, in Unix seconds.
func pack(source, version, epoch, out string) (string, error) {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return "", fmt.Errorf("SOURCE_DATE_EPOCH %q: expected Unix seconds", epoch)
	}
	c, err := loader.LoadDir(source)
	if err != nil {
		return "", fmt.Errorf("read chart: %w", err)
	}
	if _, err := semver.StrictNewVersion(version); err != nil {
		return "", fmt.Errorf("version %q: expected a semantic version, such as 1.2.3", version)
	}
	c.Metadata.Version, c.Metadata.AppVersion = version, version // the second one is the tag of the image
	if err := c.Validate(); err != nil {
		return "", fmt.Errorf("check chart: %w", err)
	}
	files, err := contents(c)
	if err != nil {
		return "", err
	}
	archive, err := archived(c.Name(), files, time.Unix(seconds, 0))
	if err != nil {
		return "", err
	}
	path := filepath.Join(out, c.Name()+"-"+c.Metadata.Version+".tgz")
	return path, os.WriteFile(path, archive, 0o644) //nolint:gosec // holds no secret
}

// contents returns the files of a chart in the order of their names, Chart.yaml with the versions of c.
func contents(c *chart.Chart) ([]*chart.File, error) {
	metadata, err := yaml.Marshal(c.Metadata)
	if err != nil {
		return nil, err
	}
	files := slices.Clone(c.Raw)
	for i, f := range files {
		if f.Name == chartutil.ChartfileName {
			files[i] = &chart.File{Name: f.Name, Data: metadata}
		}
	}
	slices.SortFunc(files, func(a, b *chart.File) int { return cmp.Compare(a.Name, b.Name) })
	return files, nil
}

// archived returns a compressed archive of the files in one folder.
func archived(folder string, files []*chart.File, at time.Time) ([]byte, error) {
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		err := archive.WriteHeader(&tar.Header{Name: folder + "/" + f.Name, Mode: 0o644, Size: int64(len(f.Data)), ModTime: at, Format: tar.FormatPAX})
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(archive, bytes.NewReader(f.Data)); err != nil {
			return nil, err
		}
	}
	err := errors.Join(archive.Close(), compressed.Close())
	return packed.Bytes(), err
}
