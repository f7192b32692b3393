//go:build packages && linux

package linux_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// connect gives machines the addresses 10.77.0.1, 10.77.0.2, ... in a network of their own, and the names a, b, ...
func connect(t *testing.T, machines ...*machine) {
	t.Helper()
	in := func(m *machine, line string) {
		if output, err := exec.Command("nsenter", append([]string{"--target", fmt.Sprint(m.pid), "--net", "--"}, strings.Fields(line)...)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, output)
		}
	}
	in(machines[0], "ip link add bridge type bridge")
	in(machines[0], "ip link set bridge up")
	for i, m := range machines {
		device := "bridge"
		if i > 0 {
			device = fmt.Sprintf("eth%d", i)
			in(machines[0], fmt.Sprintf("ip link add to%d type veth peer name %s", i, device))
			in(machines[0], fmt.Sprintf("ip link set to%d master bridge up", i))
			in(machines[0], fmt.Sprintf("ip link set %s netns %d", device, m.pid))
			in(m, "ip link set "+device+" up")
		}
		in(m, fmt.Sprintf("ip address add 10.77.0.%d/24 dev %s", i+1, device))
		m.run("printf '10.77.0.1 a\\n10.77.0.2 b\\n10.77.0.3 c\\n' >>/etc/hosts")
	}
}

// TestThreeMembersStartOneByOne configures and starts three members as docs/linux.md says.
func TestThreeMembersStartOneByOne(t *testing.T) {
	t.Parallel()
	var machines []*machine
	for range 3 {
		machines = append(machines, boot(t, built))
	}
	connect(t, machines...)
	var key string
	for i, m := range machines {
		m.run("dpkg -i /packages/" + file(older, "deb"))
		if i == 0 {
			m.run("snowraft secret create --out " + secret)
			key = m.run("cat " + secret)
		} else {
			m.run("umask 077 && echo '" + key + "' >" + secret)
		}
		name := string(rune('a' + i))
		m.run("printf 'name: " + name + "\\nadvertise-host: " + name + "\\nbootstrap-expect: 3\\njoin: [a:7703, b:7703, c:7703]\\n' >>/etc/snowraft/snowraft.yaml")
	}
	first := machines[0]
	first.run("systemctl enable --now snowraft") // returns without the others
	first.until("the status says what the member waits for", func() bool {
		status := first.run("systemctl show --property=StatusText --value snowraft")
		return strings.HasPrefix(status, "serving at a:7700, cannot issue IDs yet: ") && strings.Contains(status, "1 of 3 members seen: a; waiting for 2 more")
	})
	machines[1].run("systemctl enable --now snowraft")
	machines[2].run("systemctl enable --now snowraft")
	ids := map[uint64]bool{}
	for _, m := range machines {
		ids[m.id()] = true
	}
	if len(ids) != 3 {
		t.Errorf("three members issued %v", ids)
	}
	first.until("all three vote", func() bool {
		output, _ := first.try("snowraft member list" + asAdmin)
		return strings.Contains(output, "Voters: 3 of 3 alive; tolerates one failure")
	})
	// One leaves, and stays away.
	third := machines[2]
	third.run("snowraft member leave" + asAdmin)
	third.until("the member that left is stopped", func() bool {
		return third.run("systemctl is-active snowraft || true") == "inactive"
	})
	after := third.run("sleep 3; systemctl show --property=NRestarts --value snowraft; systemctl is-active snowraft || true")
	if after != "0\ninactive" {
		t.Errorf("3 s after a member left: %q", after)
	}
	// Once removed, the member fails if it is started, and systemd does not start it again.
	third.run("systemctl start snowraft || true")
	third.until("the removed member has failed", func() bool {
		return third.run("systemctl is-active snowraft || true") == "failed"
	})
	after = third.run("sleep 3; systemctl show --property=ExecMainStatus,NRestarts snowraft; systemctl is-active snowraft || true")
	if after != "NRestarts=0\nExecMainStatus=10\nfailed" {
		t.Errorf("3 s after a removed member was started: %q", after)
	}
	first.id()
}
