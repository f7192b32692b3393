//go:build install && linux

package installtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/network"
)

// domain is the domain of the machines on the page.
const domain = "example.net"

// machine is a bare Debian machine: a container with systemd as its first process, its own network address, and its
// own files over the files that Debian installs.
type machine struct {
	name string
	root string // directory with its files
	host *network.Host
	init string // PID of its systemd here
}

// machines boots one machine per letter. Each machine knows the names of all machines.
func machines(t *testing.T, base, letters string) map[string]*machine {
	t.Helper()
	network, err := network.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]*machine)
	for i, letter := range strings.Split(letters, "") {
		host, err := network.AddHost(t.Context(), letter, i+1)
		if err != nil {
			t.Fatal(err)
		}
		all[letter] = &machine{name: letter, host: host}
	}
	disks := t.TempDir()
	if err := syscall.Mount("tmpfs", disks, "tmpfs", 0, "mode=755"); err != nil { // an upper layer must not be on an overlay
		t.Fatalf("mount a tmpfs: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disks, syscall.MNT_DETACH) })
	for _, m := range all {
		m.root = filepath.Join(disks, m.name, "root")
		upper, work := filepath.Join(disks, m.name, "upper"), filepath.Join(disks, m.name, "work")
		for _, dir := range []string{m.root, upper, work} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Mount("overlay", m.root, "overlay", 0, "lowerdir="+base+",upperdir="+upper+",workdir="+work); err != nil {
			t.Fatalf("mount an overlay: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(m.root, syscall.MNT_DETACH) })
		m.write(t, "/etc/hosts", m.names(all))
		m.write(t, "/etc/hostname", m.name+"\n")
		m.boot(t)
	}
	for _, m := range all {
		m.await(t, "boot", "systemctl is-system-running --wait | grep -xE 'running|degraded'")
	}
	return all
}

// names returns the hosts file with the names of all machines. As in the file that Debian's installer writes, the machine's own
// name belongs to a loopback address.
func (m *machine) names(all map[string]*machine) string {
	lines := "127.0.0.1 localhost\n"
	for _, other := range all {
		ip := other.host.IP
		if other == m {
			ip = "127.0.1.1"
		}
		lines += fmt.Sprintf("%s %s.%s %[2]s\n", ip, other.name, domain)
	}
	return lines
}

func (m *machine) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.root, path), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// boot starts the machine, with the network of its host.
func (m *machine) boot(t *testing.T) {
	t.Helper()
	var console bytes.Buffer
	cmd := exec.Command("systemd-nspawn", "--quiet", "--settings=no", "--register=no", "--keep-unit", "--resolv-conf=off", "--timezone=off",
		"--link-journal=no", "--console=pipe", "--hostname="+m.name, "--directory="+m.root, "--boot")
	cmd.Stdout, cmd.Stderr = &console, &console
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.host.Do(cmd.Start); err != nil {
		t.Fatalf("start systemd-nspawn: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("console of %s:\n%s", m.name, console.String())
		}
	})
	children := fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid)
	wait(t, "the first process of "+m.name, func() bool {
		pids, err := os.ReadFile(children)
		if err != nil {
			t.Fatalf("systemd-nspawn has exited: %v", err)
		}
		if f := strings.Fields(string(pids)); len(f) == 1 {
			name, _ := os.ReadFile("/proc/" + f[0] + "/comm")
			m.init = f[0]
			return strings.TrimSpace(string(name)) == "systemd"
		}
		return false
	})
}

// run runs a command in a shell of root and returns its output.
func (m *machine) run(ctx context.Context, env []string, command string) (string, error) {
	cmd := exec.CommandContext(ctx, "nsenter", "--target", m.init, "--all", "--root", "--wd", "env", "-i", "-C", "/root", "HOME=/root", "TERM=dumb",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	cmd.Args = append(append(cmd.Args, env...), "bash", "-o", "pipefail", "-c", command)
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// await waits until a command succeeds.
func (m *machine) await(t *testing.T, what, command string) {
	t.Helper()
	wait(t, what+" of "+m.name, func() bool {
		_, err := m.run(t.Context(), nil, command)
		return err == nil
	})
}

// copies matches a command that copies a file to another machine: "scp -p FILE root@b.example.net:DIRECTORY/".
var copies = regexp.MustCompile(`^scp -p (\S+) root@([a-d])\.` + regexp.QuoteMeta(domain) + `:(/\S+)/$`)

// patience exceeds the 90 s after which systemd counts a unit as failed that has not started. The machine is degraded then, which
// does not matter to the pages.
const patience = 3 * time.Minute

func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not done after %v", what, patience)
		}
		<-time.After(50 * time.Millisecond)
	}
}
