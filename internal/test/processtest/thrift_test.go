//go:build process

package processtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/freeport"
	"github.com/snowraft/snowraft/snowflake"
)

// listenThrift makes a process, which must not be started yet, listen for clients of Twitter's Snowflake server.
func (m *member) listenThrift() string {
	address := freeport.Address(m.t)
	m.flags = append(m.flags, "--thrift-addr", address)
	return address
}

// thriftClient starts a client that requests IDs until the test kills the client.
func thriftClient(t *testing.T, address, framing string, agent ...string) *process {
	t.Helper()
	const python = "/usr/bin/python3"
	if exec.Command(python, "-c", "import thrift").Run() != nil {
		t.Fatal("no Python that can import thrift: install Debian's python3-thrift")
	}
	script, err := filepath.Abs("testdata/snowflake_client.py")
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(address)
	return startClient(t, python, append([]string{script, host, port, framing}, agent...)...)
}

// taken returns the IDs that a client printed, and its other lines.
func taken(p *process) (ids []uint64, others []string) {
	text := p.stdout.String()
	text = text[:strings.LastIndexByte(text, '\n')+1] // the last line may be incomplete
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if id, err := strconv.ParseUint(line, 10, 64); err == nil {
			ids = append(ids, id)
		} else {
			others = append(others, line)
		}
	}
	return ids, others
}

// TestThriftClients runs clients of Twitter's server that request IDs from a member and from a gateway, while the member is killed
// and restarted.
func TestThriftClients(t *testing.T) {
	t.Parallel()
	members := newCluster(t, 3)
	atMember := members[0].listenThrift()
	for _, m := range members {
		m.start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	clients := map[string]*process{
		"framed":   thriftClient(t, atMember, "framed"),
		"unframed": thriftClient(t, atMember, "unframed"),
	}
	until(t, "the member has created the layout", func() bool { ids, _ := taken(clients["framed"]); return len(ids) > 0 })
	gateway := newMember(t, "g")
	atGateway := gateway.listenThrift()
	gateway.gateway(nil, members...)
	clients["the gateway"] = thriftClient(t, atGateway, "framed", "at-gateway")
	more := func(what string) {
		t.Helper()
		for name, c := range clients {
			before, _ := taken(c)
			until(t, name+" takes IDs "+what, func() bool {
				now, _ := taken(c)
				return len(now) > len(before)+100
			})
		}
	}
	more("at first")
	members[0].kill()
	before, _ := taken(clients["the gateway"])
	until(t, "the gateway's client gets more IDs", func() bool {
		now, _ := taken(clients["the gateway"])
		return len(now) > len(before)+100
	})
	members[0].start()
	more("after the kill")

	layout, _ := snowflake.Preset("twitter")
	seen := map[uint64]string{}
	for name, c := range clients {
		c.kill()
		ids, others := taken(c)
		for _, id := range ids {
			if former, ok := seen[id]; ok {
				t.Fatalf("%s got ID %d, which %s got before", name, id, former)
			}
			seen[id] = name
		}
		parts, err := layout.Unpack(ids[0])
		if at := layout.TimeOf(ids[0]); err != nil || time.Since(at).Abs() > time.Minute || parts.Datacenter != 0 {
			t.Errorf("%s: the first ID %d is of %s, datacenter %d, %v", name, ids[0], at, parts.Datacenter, err)
		}
		var worker, datacenter uint64
		var ms int64
		if len(others) > 0 {
			_, err = fmt.Sscan(others[0], &worker, &datacenter, &ms)
		}
		// Behind the gateway, IDs may come from several members.
		if err != nil || name != "the gateway" && worker != parts.Worker || worker >= layout.Workers() || datacenter != 0 ||
			time.Since(time.UnixMilli(ms)).Abs() > time.Minute {
			t.Errorf("%s: worker, datacenter and timestamp are %q, want worker %d, %v", name, others, parts.Worker, err)
		}
	}
	if metrics := scraped(t, members[0]); !strings.Contains(metrics, `snowraft_thrift_ids_issued_total{agent="test-client"}`) {
		t.Error("the metrics do not count IDs by user agent")
	}
}

// scraped returns the metrics of a member.
func scraped(t *testing.T, m *member) string {
	t.Helper()
	resp, err := http.Get("http://" + m.http + "/metrics") //nolint:noctx // a test's own member
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestThriftClockBehind moves the clock of a member backwards. Clients get the exception of Twitter's server, and no ID until
// the clock is correct again.
func TestThriftClockBehind(t *testing.T) {
	t.Parallel()
	skipWithoutClocks(t)
	members := newCluster(t, 3)
	last := members[2]
	address := last.listenThrift()
	clock := startWithClock(t, members)
	c := thriftClient(t, address, "framed")
	until(t, "the client takes IDs", func() bool { ids, _ := taken(c); return len(ids) > 100 })
	if err := clock.Set(-5 * time.Second); err != nil {
		t.Fatal(err)
	}
	until(t, "the client is refused", func() bool {
		_, others := taken(c)
		return strings.HasPrefix(others[len(others)-1], "InvalidSystemClock: ")
	})
	before, _ := taken(c)
	_, others := taken(c)
	until(t, "more refusals", func() bool { _, now := taken(c); return len(now) > len(others)+10 })
	if now, _ := taken(c); len(now) != len(before) {
		t.Errorf("%d IDs with a clock that is behind, want 0", len(now)-len(before))
	}
	if err := clock.Set(0); err != nil {
		t.Fatal(err)
	}
	until(t, "the client takes IDs again", func() bool { ids, _ := taken(c); return len(ids) > len(before)+100 })
	ids, _ := taken(c)
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			t.Fatalf("ID %d after %d", ids[i], ids[i-1])
		}
	}
	c.signal(syscall.SIGKILL)
}
