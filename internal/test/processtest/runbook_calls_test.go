//go:build process

package processtest

import (
	"io"
	"net"
	"path/filepath"
	"time"

	"github.com/snowraft/snowraft/internal/test/freeport"
	"github.com/snowraft/snowraft/trust"
)

// drillRestored restores a cluster while a member of the old cluster runs.
func drillRestored(d *drill) {
	old := d.started(1, "--initial-max-window", "2s")[0]
	d.sh("snowraft seq create orders --start 5600 && snowraft seq next orders --count 50") // up to 5649; block up to 5699
	d.sh("snowraft backup today.backup")
	old.stop()
	fresh := d.on("b", newMember(d.t, "b"))
	mustRun(d.t, "restore", filepath.Join(d.dir, "today.backup"), "--data-dir", fresh.dir,
		"--old-ended", time.Now().UTC().Format(time.RFC3339Nano), "--old-cluster-is-gone", "--clock-checked")
	old.start().untilIssues()
	fresh.flags = []string{"--join", old.gossip}
	d.prints(fresh.start())
	d.run()
	d.run()
	d.run()
}

func drillSetBack(d *drill) {
	members := d.started(3, "--initial-max-window", "2s")
	d.run()
	d.prints(members[0])
	d.run()
	d.run()
	noted := time.Now().Add(2 * time.Second) // latest possible time
	until(d.t, "the noted time has passed", func() bool { return time.Now().After(noted) })
	d.run()
}

func drillOpen(d *drill) {
	d.started(1)
	d.sh("snowraft seq create orders && snowraft seq create invoices --mode gapless && snowraft seq reserve invoices order-1001 order-1002")
	d.run()
}

func drillExhausted(d *drill) {
	d.started(1)
	d.sh("snowraft seq create tickets --max 5 && snowraft seq next tickets --count 5")
	d.run()
	d.run()
}

func drillRepeat(d *drill) {
	d.started(1)
	d.sh("snowraft seq create orders && snowraft seq next orders")
	d.run()
	d.run()
}

// secured starts a secured cluster of one member. Commands run as admin unless they have a token.
func (d *drill) secured() *member {
	d.t.Helper()
	a := d.cluster(1)[0].secured(trust.NewSecret())
	d.at("a", a).start().untilIssues()
	d.env = []string{"SNOWRAFT_SECRET_FILE=" + *a.secret.Load()}
	return a
}

func drillToken(d *drill) {
	d.secured()
	d.sh("snowraft seq create orders")
	d.sh("snowraft token create app --scope ids:issue:default | tail -n 1 >app.token")
	d.sh("snowraft token create old --scope ids:issue:default | tail -n 1 >old.token")
	d.sh("snowraft token delete old")
	d.run()
	d.run()
	d.run()
}

func drillRate(d *drill) {
	d.secured()
	d.sh("snowraft token create app --scope ids:issue:default --rate 10 | tail -n 1 >app.token")
	d.sh("env -u SNOWRAFT_SECRET_FILE SNOWRAFT_TOKEN=$(cat app.token) snowraft id --count 1000 >ids")
	d.run()
	d.run()
}

// drillOverloaded opens more connections than one address may have.
func drillOverloaded(d *drill) {
	redis := freeport.Address(d.t)
	d.text[redis] = "a.example.net:7704"
	d.started(1, "--redis-addr", redis)
	var clients []net.Conn
	pong := make([]byte, 7)
	for refused := false; !refused; {
		conn, err := net.Dial("tcp", redis)
		if err != nil {
			d.t.Skip(err) // the limit of open files is too low
		}
		defer conn.Close()
		clients = append(clients, conn)
		_, _ = conn.Write([]byte("PING\r\n")) // a refused connection is closed
		_, err = io.ReadFull(conn, pong)
		refused = err != nil || string(pong) != "+PONG\r\n"
	}
	d.run()
	for _, conn := range clients {
		_ = conn.Close()
	}
	d.run()
}
