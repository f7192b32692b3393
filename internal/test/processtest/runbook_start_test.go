//go:build process

package processtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/trust"
)

func drillCopy(d *drill) {
	members := d.started(3)
	members[2].stop()
	twin := copyOf(d.t, members[2], "c")
	members[2].start().untilIssues()
	twin.name = "c"
	d.at("d", twin).start()
	d.lastPrints(twin, 1)
	d.anyPrints(members)
	twin.name = "d"
	twin.flags = []string{"--join", seeds(members...)}
	d.run()
	members[2].untilIssues()
}

// anyPrints is prints for lines that one of several members prints.
func (d *drill) anyPrints(members []*member) {
	d.t.Helper()
	for _, line := range d.block("text").lines {
		until(d.t, "a member prints "+line, func() bool {
			for _, m := range members {
				if match(line, d.asShown(m.stderr.String()), d.bound) {
					return true
				}
			}
			return false
		})
	}
}

func drillOtherCluster(d *drill) {
	members := d.started(1)
	other := d.on("d", newMember(d.t, "d")).start()
	other.untilIssues()
	other.stop()
	other.flags = []string{"--join", seeds(members...)}
	other.start()
	d.lastPrints(other, 1)
	d.run()
	d.run()
	members[0].untilVoters(2)
}

func drillName(d *drill) {
	members := d.started(3)
	members[2].kill()
	fresh := newcomer(d.t, "c", members)
	d.at("d", fresh)
	until(d.t, "c is not alive", func() bool { return !listed(d.t, members[0], "c").GetAlive() })
	fresh.start()
	d.lastPrints(fresh, 1)
	d.run()
	members[0].untilVoters(3)
}

func drillRemoved(d *drill) {
	members := d.started(3)
	d.sh("snowraft member remove c")
	_ = members[2].exit()
	members[2].start()
	d.lastPrints(members[2], 10)
	d.run()
	members[0].untilVoters(3)
}

func drillDamage(d *drill) {
	members := d.started(3)
	members[2].kill()
	damage(d.t, filepath.Join(members[2].dir, "raft.db"), []byte("c/0"))
	members[2].start()
	d.lastPrints(members[2], 1)
	d.run()
	members[0].untilVoters(3)
}

// damage flips one bit at each occurrence of find in a file, because unused pages may hold a copy.
func damage(t *testing.T, path string, find []byte) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(raw, find) {
		t.Fatalf("%s does not contain %s", path, find)
	}
	bad := bytes.Clone(find)
	bad[0] ^= 0x40
	if err := os.WriteFile(path, bytes.ReplaceAll(raw, find, bad), 0o600); err != nil {
		t.Fatal(err)
	}
}

func drillSecretMissing(d *drill) {
	a := d.cluster(1)[0].secured(trust.NewSecret())
	d.at("a", a).start().untilIssues()
	a.stop()
	d.env = []string{"SNOWRAFT_SECRET_FILE=" + *a.secret.Load()}
	without := a.flags[:len(a.flags)-2]
	a.flags = without
	a.start()
	d.lastPrints(a, 2)
	d.run()
}

func drillInUse(d *drill) {
	first := d.started(1)[0]
	second := newMember(d.t, "d")
	second.dir = first.dir
	d.on("d", second).start()
	d.lastPrints(second, 1)
	d.run()
	first.untilIssues()
}

func drillPort(d *drill) {
	m := d.on("d", newMember(d.t, "d"))
	occupy(d.t, m.api)
	m.start()
	d.lastPrints(m, 1)
	d.run()
}

// drillDiskFull needs root for its own disk.
func drillDiskFull(d *drill) {
	if os.Geteuid() != 0 {
		d.t.Skip("a small disk requires root")
	}
	disk := filepath.Join(d.t.TempDir(), "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		d.t.Fatal(err)
	}
	if text, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m", "none", disk).CombinedOutput(); err != nil {
		d.t.Skipf("%v: %s", err, text)
	}
	d.t.Cleanup(func() { _ = exec.Command("umount", "-l", disk).Run() })
	members := d.cluster(3)
	members[2].dir = filepath.Join(disk, "data")
	d.on("c", members[2])
	for _, m := range members {
		m.start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	_ = os.WriteFile(filepath.Join(disk, "old-logs"), make([]byte, 4<<20), 0o600) // until it is full
	d.sh("for i in $(seq 40); do snowraft seq create s$i --description " + strings.Repeat("x", 200) + " >&2 || true; done")
	d.lastPrints(members[2], 1)
	d.run()
}

func drillOtherSecret(d *drill) {
	secret := trust.NewSecret()
	a := d.cluster(1)[0].secured(secret)
	d.at("a", a).start().untilIssues()
	stranger := newcomer(d.t, "d", []*member{a}).secured(trust.NewSecret())
	d.on("d", stranger)
	delete(d.text, *stranger.secret.Load())
	stranger.start()
	d.env = []string{"SNOWRAFT_SECRET_FILE=" + *stranger.secret.Load()}
	d.prints(stranger)
	d.run()
	d.env = []string{"SNOWRAFT_SECRET_FILE=" + *a.secret.Load()}
	d.run()
}

// drillNewer starts the version under test in a cluster that uses the commands of the next version.
func drillNewer(d *drill) {
	next, err := buildNext()
	if err != nil {
		d.t.Fatal(err)
	}
	members := d.cluster(3, "--initial-upgrades", "manual")
	for _, m := range members {
		m.program = next
		m.start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	until(d.t, "the cluster uses the new commands", func() bool {
		d.shell(hostStep{command: "snowraft upgrade finalize", output: "snowraft: "}) // may fail until all members are known
		return members[2].status().GetFsmVersion() == nextFSMVersion
	})
	members[2].stop()
	members[2].program = program
	members[2].start()
	d.lastPrints(members[2], 1)
	members[2].program = next
	d.run()
}
