//go:build install && linux

package installtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// limit is the time from a bare machine to the first ID of three secured members.
const limit = 5 * time.Minute

// firstID is the section that ends with the first ID.
const firstID = "Three secured members on Debian"

// sections lists the sections with commands.
var sections = []string{"Verify", firstID, "Archive", "Upgrade", "Remove"}

// TestInstallPage runs all commands in console blocks of docs/install.md, from top to bottom, on the machines of their
// prompts. The commands must succeed and print the output on the page. Unlike a reader, the test
//
//   - copies the files of dist to the machines, because they come from a network that these machines do not have;
//   - uses the version of these files instead of the page's;
//   - copies files between the machines without scp, because the machines have no SSH server.
//
// The machines are containers: they have the kernel of this machine, and each has its own systemd, users, files, processes
// and network address.
func TestInstallPage(t *testing.T) {
	text, err := os.ReadFile("../../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	steps, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	version, files := release(t)
	all := machines(t, os.Getenv(baseVariable), "abcd")
	for _, m := range all {
		if output, err := exec.Command("cp", append(files, filepath.Join(m.root, "root"))...).CombinedOutput(); err != nil {
			t.Fatalf("copy the release to %s: %v: %s", m.name, err, output)
		}
	}

	var env, played []string
	written := "no version" // version on the page
	began, took := time.Now(), time.Duration(0)
	for _, s := range steps {
		if shown, ok := strings.CutPrefix(s.command, "version="); ok {
			written, env = shown, []string{"version=" + version}
			continue
		}
		for _, name := range s.machines {
			since := time.Now()
			output, err := all[name].do(t, all, env, s.command)
			if err != nil || !matches(strings.ReplaceAll(s.output, written, version), output) {
				t.Fatalf("%s: %s# %s\n%v\nprints\n%s\nwant\n%s\n%s", s.section, name, s.command, err, output, s.output, all[name].journal(t))
			}
			t.Logf("%5.1f s  %s# %s", time.Since(since).Seconds(), name, s.command)
		}
		played = append(played, s.section)
		if s.section == firstID && strings.HasPrefix(s.command, "snowraft id ") && took == 0 {
			took = time.Since(began)
		}
	}
	for _, section := range sections {
		if !slices.Contains(played, section) {
			t.Errorf("the page has no commands in a section %q", section)
		}
	}
	t.Logf("from bare machines to an ID of three secured members: %.1f s", took.Seconds())
	if took == 0 || took > limit {
		t.Errorf("the first ID took %v, want at most %v", took, limit)
	}
}

// release returns the version of the release in dist and the paths of its files for these machines.
func release(t *testing.T) (version string, paths []string) {
	t.Helper()
	archives, err := filepath.Glob("../../../dist/snowraft_*_linux_amd64.tar.gz")
	if err != nil || len(archives) != 1 {
		t.Fatalf("dist has %d archives for linux_amd64, want 1; run \"make release\" first", len(archives))
	}
	version = regexp.MustCompile(`snowraft_(.*)_linux_amd64\.tar\.gz$`).FindStringSubmatch(archives[0])[1]
	for _, name := range []string{"snowraft_" + version + "_linux_amd64.tar.gz", "snowraft_" + version + "_linux_amd64.deb", "checksums.txt"} {
		path := filepath.Join("../../../dist", name)
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%v; run \"make release\" first", err)
		}
		paths = append(paths, path)
	}
	return version, paths
}

// do runs a command line of the page.
func (m *machine) do(t *testing.T, all map[string]*machine, env []string, command string) (string, error) {
	t.Helper()
	if c := copies.FindStringSubmatch(command); c != nil {
		from, to := filepath.Join(m.root, c[1]), filepath.Join(all[c[2]].root, c[3])
		output, err := exec.CommandContext(t.Context(), "cp", "-p", from, to).CombinedOutput()
		return string(output), err
	}
	return m.run(t.Context(), env, command)
}

// journal returns the last lines of the log of the machine's member.
func (m *machine) journal(t *testing.T) string {
	t.Helper()
	output, err := m.run(t.Context(), nil, "systemctl status --no-pager --full snowraft; journalctl --no-pager -u snowraft | tail -n 30")
	return fmt.Sprintf("log of %s (%v):\n%s", m.name, err, output)
}
