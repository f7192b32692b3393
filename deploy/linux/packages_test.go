//go:build packages && linux

package linux_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

const (
	older, newer = "v1.2.3", "v1.2.4-2-g0123abc"
	secret       = "/etc/snowraft/cluster.secret"
	asAdmin      = " --secret-file " + secret
)

// manager is a manager of packages.
type manager struct {
	format                   string
	install, upgrade, remove string // remove leaves the configuration
	version                  string // prints the installed version
	configAfter              string // path of a changed configuration file after remove
}

var managers = map[string]manager{
	"deb": {
		format: "deb", install: "dpkg -i ", upgrade: "dpkg -i ", remove: "dpkg -r snowraft",
		version: "dpkg-query -W -f '${Version}' snowraft", configAfter: "/etc/snowraft/snowraft.yaml",
	},
	"rpm": { // Debian's rpm knows of no other package
		format: "rpm", install: "rpm -i --nodeps ", upgrade: "rpm -U --nodeps ", remove: "rpm -e snowraft",
		version: "rpm -q --qf '%{VERSION}' snowraft", configAfter: "/etc/snowraft/snowraft.yaml.rpmsave",
	},
}

// built has the packages of two versions.
var built string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run is TestMain with deferred calls, which os.Exit would skip.
func run(m *testing.M) int {
	var err error
	if built, err = os.MkdirTemp("", "snowraft-packages-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(built)
	for _, version := range []string{older, newer} {
		if err := pack(version, built); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

// pack makes the packages of a version.
func pack(version, dir string) error {
	return packBy(exec.Command("./package.sh", runtime.GOARCH, dir), version)
}

func packBy(cmd *exec.Cmd, version string) error {
	cmd.Env = append(os.Environ(), "VERSION="+version)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("package.sh: %w\n%s", err, output)
	}
	return nil
}

func file(version, format string) string {
	return "snowraft_" + strings.TrimPrefix(version, "v") + "_linux_" + runtime.GOARCH + "." + format
}

func TestPackagesAreReproducible(t *testing.T) {
	t.Parallel()
	again := t.TempDir()
	elsewhere := exec.Command("unshare", "--uts", "sh", "-c", `hostname elsewhere && umask 077 && TZ=Asia/Tokyo exec ./package.sh "$@"`, "sh", runtime.GOARCH, again)
	if err := packBy(elsewhere, older); err != nil {
		t.Fatal(err)
	}
	for format := range managers {
		one, err := os.ReadFile(filepath.Join(built, file(older, format)))
		if err != nil {
			t.Fatal(err)
		}
		two, err := os.ReadFile(filepath.Join(again, file(older, format)))
		if err != nil || !bytes.Equal(one, two) {
			t.Errorf("the same .%s differs on another host (%v)", format, err)
		}
	}
}

func TestUnitsAreHardened(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"snowraft.service", "snowraft-gateway.service"} {
		output, err := exec.Command("systemd-analyze", "security", "--offline=yes", "--threshold=15", unit).CombinedOutput()
		if err != nil || !strings.Contains(string(output), "Overall exposure level for "+unit) {
			t.Errorf("%s: %v\n%s", unit, err, output)
		}
	}
}

// TestUnitOfWorkerRun checks the unit of docs/workers.md.
func TestUnitOfWorkerRun(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/workers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```ini\n")
	unit, _, _ := strings.Cut(rest, "```")
	unit = strings.Replace(unit, "/usr/bin/snowraft", "/bin/true", 1) // verify wants a program that exists
	path := filepath.Join(t.TempDir(), "orders.service")
	if err := os.WriteFile(path, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput(); err != nil || len(output) > 0 || unit == "" {
		t.Errorf("%v\n%s", err, output)
	}
}

// TestInstalledMember installs a package, starts a member as the page describes, lets the member hang and crash, upgrades,
// removes and installs again.
func TestInstalledMember(t *testing.T) {
	for name, p := range managers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := boot(t, built)
			installed(m, p)
			first := configured(m)
			supervised(m)
			second := m.id()
			gateway(m)
			upgraded(m, p)
			removed(m, p)
			if m.run(p.install + "/packages/" + file(newer, p.format)); m.t.Failed() {
				return
			}
			m.run("systemctl start snowraft") // old data and secret
			if third := m.id(); first >= second || second >= third {
				t.Errorf("IDs %d, %d, %d of one member do not increase", first, second, third)
			}
			m.run(p.remove)
		})
	}
}

// installed installs a package that must start nothing, and start nothing later without a secret.
func installed(m *machine, p manager) {
	m.t.Helper()
	if p.format == "rpm" {
		m.run("rm $(command -v systemd-sysusers)") // a machine without it gets the user too
	}
	says := m.run(p.install + "/packages/" + file(older, p.format))
	if !strings.Contains(says, "nothing was started") {
		m.t.Errorf("%s says %q", p.install, says)
	}
	if output, err := m.try("systemd-analyze verify /usr/lib/systemd/system/snowraft.service /usr/lib/systemd/system/snowraft-gateway.service"); err != nil || output != "" {
		m.t.Errorf("systemd-analyze verify: %v\n%s", err, output)
	}
	m.prints(map[string]string{
		p.version:                      "1.2.3",
		"snowraft version | head -n 1": "Version   v1.2.3",
		"systemctl is-active snowraft snowraft-gateway | sort -u":                          "inactive",
		"systemctl is-enabled snowraft snowraft-gateway | sort -u":                         "disabled",
		"getent passwd snowraft | cut -d: -f1,6,7":                                         "snowraft:/var/lib/snowraft:/usr/sbin/nologin",
		"cd /etc/snowraft && stat -c '%n %A %U:%G' . *":                                    ". drwxr-xr-x root:root\ngateway.yaml -rw------- root:root\nsnowraft.yaml -rw-r--r-- root:root",
		"stat -c '%A %U:%G' /usr/bin/snowraft":                                             "-rwxr-xr-x root:root",
		"ls -d /var/lib/snowraft 2>/dev/null":                                              "",
		"grep -c snowraft /usr/share/bash-completion/completions/snowraft | grep -cv '^0'": "1",
		"cat /usr/share/doc/snowraft/copyright /usr/share/licenses/snowraft/LICENSE 2>/dev/null | grep -c 'Version 2.0, January 2004'":           "1",
		"cat /usr/share/doc/snowraft/licenses.txt /usr/share/licenses/snowraft/licenses.txt 2>/dev/null | grep -c '^github.com/hashicorp/raft '": "1",
	})
	says, err := m.try("systemctl start snowraft")
	if journal := m.journal(); err == nil || !strings.Contains(journal, "no secret in "+secret+"; create it on one machine with snowraft secret create") {
		m.t.Errorf("a start without a secret: %v\n%s\n%s", err, says, journal)
	}
}

// configured gives the member a secret, starts it, and returns an ID.
func configured(m *machine) uint64 {
	m.t.Helper()
	m.run("snowraft secret create --out " + secret)
	m.run("systemctl enable --now snowraft")
	id := m.id()
	m.until("systemd knows that the member issues IDs", func() bool {
		return m.run("systemctl show --property=StatusText --value snowraft") == "serving at 127.0.0.1:7700, issuing IDs"
	})
	pid := m.run("systemctl show --property=MainPID --value snowraft")
	m.prints(map[string]string{
		"systemctl is-active snowraft":         "active",
		"stat -c %U /proc/" + pid:              "snowraft",
		"stat -c '%A %U:%G' /var/lib/snowraft": "drwx------ snowraft:snowraft",
		"grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/" + pid + "/status | tr -d '\\t'": "CapEff:0000000000000000\nNoNewPrivs:1\nSeccomp:2",
	})
	m.run("systemctl reload snowraft && snowraft health --ready")
	return id
}

// id returns an ID of the member once it issues.
func (m *machine) id() (id uint64) {
	m.t.Helper()
	m.until("the member issues", func() bool {
		output, err := m.try("snowraft id" + asAdmin)
		if err != nil {
			return false
		}
		if id, err = strconv.ParseUint(output, 10, 64); err != nil {
			m.t.Fatalf("snowraft id: %q", output)
		}
		return true
	})
	return id
}

// supervised stops and kills the member.
func supervised(m *machine) {
	m.t.Helper()
	const conf = "/run/systemd/system/snowraft.service.d/fast.conf"
	fast := func(lines string) {
		m.run("mkdir -p $(dirname " + conf + ") && printf '[Service]\\n" + lines + "' >" + conf + " && systemctl daemon-reload && systemctl restart snowraft")
	}
	restarts := func() string { return m.run("systemctl show --property=NRestarts --value snowraft") }
	restarted := func(what, signal string) {
		before := restarts()
		m.run("systemctl kill --signal=" + signal + " snowraft")
		m.until(what, func() bool { return restarts() != before && m.run("systemctl is-active snowraft || true") == "active" })
	}
	// A machine that stalls for longer than the watchdog's time restarts the member too, so the watchdog is fast for one hang only.
	fast("WatchdogSec=2s\\nRestartSec=100ms\\n")
	restarted("the watchdog restarts a member that hangs", "STOP")
	m.until("the journal has the reason and the stack of the process", func() bool {
		_, err := m.try("journalctl --no-pager --unit=snowraft | grep 'Watchdog timeout' && journalctl --no-pager --unit=snowraft | grep 'goroutine 1 '")
		return err == nil
	})
	fast("RestartSec=100ms\\n")
	for range 7 { // systemd gives up after 5 by default
		restarted("the member is restarted again", "KILL")
	}
}

// gateway starts a gateway, whose token is in a file that only root reads.
func gateway(m *machine) {
	m.t.Helper()
	token := m.run("snowraft token create gateway --scope tokens:verify --scope 'ids:issue:*'" + asAdmin + " | tail -n 1")
	use := m.run("snowraft token create app --scope ids:issue:default" + asAdmin + " | tail -n 1")
	m.run("printf 'members: [127.0.0.1:7700]\\ntoken: " + token + "\\napi-addr: 127.0.0.1:7800\\nhttp-addr: 127.0.0.1:7801\\n' >/etc/snowraft/gateway.yaml")
	m.run("systemctl start snowraft-gateway")
	// Without its pin, the token works over plain TCP, which the gateway speaks on loopback.
	m.until("the gateway issues", func() bool {
		output, err := m.try("use=" + use + "; SNOWRAFT_TOKEN=${use%_*} snowraft id --addr 127.0.0.1:7800")
		return err == nil && regexp.MustCompile(`^\d+$`).MatchString(output)
	})
	m.prints(map[string]string{
		"systemctl is-active snowraft-gateway":                                                              "active",
		"stat -c %U /proc/$(systemctl show --property=MainPID --value snowraft-gateway)":                    "snowraft",
		"setpriv --reuid=snowraft --regid=snowraft --clear-groups cat /etc/snowraft/gateway.yaml " + secret: "cat: /etc/snowraft/gateway.yaml: Permission denied\ncat: " + secret + ": Permission denied",
	})
}

// upgraded installs a newer package, which changes neither the configuration nor the running member.
func upgraded(m *machine, p manager) {
	m.t.Helper()
	m.run("echo 'name: changed' >>/etc/snowraft/snowraft.yaml")
	pid := m.run("systemctl show --property=MainPID --value snowraft")
	if says := m.run(p.upgrade + "/packages/" + file(newer, p.format)); !strings.Contains(says, "systemctl restart snowraft\n") {
		m.t.Errorf("%s says %q", p.upgrade, says)
	}
	m.prints(map[string]string{
		p.version:                                            "1.2.4+2.g0123abc",
		"snowraft version | head -n 1":                       "Version   " + newer,
		"tail -n 1 /etc/snowraft/snowraft.yaml":              "name: changed",
		"systemctl is-enabled snowraft":                      "enabled",
		"systemctl show --property=MainPID --value snowraft": pid,
	})
	m.run("systemctl restart snowraft")
	m.id()
}

// removed removes a package, which keeps data, secret and changed configuration.
func removed(m *machine, p manager) {
	m.t.Helper()
	m.run(p.remove)
	m.prints(map[string]string{
		"ls /usr/bin/snowraft /usr/lib/systemd/system/snowraft.service 2>/dev/null":   "",
		"systemctl is-active snowraft snowraft-gateway | sort -u":                     "inactive",
		"ls /etc/systemd/system/multi-user.target.wants/snowraft.service 2>/dev/null": "",
		"pidof snowraft":               "",
		"tail -n 1 " + p.configAfter:   "name: changed",
		"stat -c %A " + secret:         "-rw-------",
		"ls /var/lib/snowraft/raft.db": "/var/lib/snowraft/raft.db",
	})
	if p.format != "deb" {
		return
	}
	if says := m.run("dpkg --purge snowraft 2>&1"); !strings.Contains(says, "kept /var/lib/snowraft") {
		m.t.Errorf("dpkg --purge says %q", says)
	}
	m.prints(map[string]string{
		"ls /etc/snowraft":                     "cluster.secret",
		"ls /var/lib/snowraft/raft.db":         "/var/lib/snowraft/raft.db",
		"getent passwd snowraft | cut -d: -f1": "snowraft",
	})
}
