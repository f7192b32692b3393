//go:build databases

package processtest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/snowraft/snowraft/internal/test/freeport"
)

// The hosts of the page, and their ports: the default ones, which the page does not always name.
const (
	oldHost      = "old"
	oldRedis     = "old-redis"
	redisPort    = 6379
	mysqlPort    = 3306
	postgresPort = 5432
)

// moved is a counter that a command of the page moves, from before the import until after the way back.
type moved struct {
	sequence string                // name in the cluster
	old      func() (int64, error) // the call of an old program for a number
	// refusal is in the errors after the fence, and on the page. It is empty for errors of servers of Leaf and tinyid.
	refusal string
	segment int   // numbers that an old server may have in its memory
	last    int64 // greatest number that any program drew
}

// draw draws a number, which no program may have drawn before.
func (m *moved) draw(t *testing.T, by string, next func() (int64, error)) {
	t.Helper()
	n, err := next()
	if err != nil || n <= m.last {
		t.Fatalf("%s draws %d of %s after %d: %v", by, n, m.sequence, m.last, err)
	}
	m.last = n
}

// mover is a reader of the page, with servers of Debian at loopback addresses that stand for the hosts of the page.
type mover struct {
	*testing.T
	member   *member
	page     string
	hosts    map[string]string
	home     string
	counters map[string]*moved // key: kind of the command
}

// TestMigratePage runs each "sh" block of docs/migrate.md, with "--fence --apply" after the plan of an import. The
// section about the way back comes last. Old programs draw numbers before, are refused in between, and draw numbers again at the end.
func TestMigratePage(t *testing.T) {
	text, err := os.ReadFile("../../../docs/migrate.md")
	if err != nil {
		t.Fatal(err)
	}
	m := &mover{T: t, member: startCluster(t, 1)[0], page: string(text), hosts: loopbacks(t, oldHost, oldRedis), home: t.TempDir()}
	m.startOld()
	blocks := regexp.MustCompile("(?m)^ *```sh\n((?s:.*?))^ *```$").FindAllStringSubmatch(m.page, -1)
	if len(blocks) < 7 {
		t.Errorf("the page has %d blocks, want at least 7", len(blocks))
	}
	var back []string
	for _, b := range blocks {
		switch command := strings.TrimSpace(b[1]); {
		case strings.HasPrefix(command, "snowraft import "):
			m.move(command)
		case strings.HasPrefix(command, "snowraft layout create "):
			m.createLayout(command)
		case strings.HasPrefix(command, "snowraft export "):
			back = append(back, command)
		default:
			t.Errorf("no step of this test plays the block\n%s", command)
		}
	}
	m.moveBack(strings.Join(back, "\n"))
}

// loopbacks returns a loopback address for each host, at which the ports of the page are free.
func loopbacks(t *testing.T, hosts ...string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for range 1000 {
		if len(found) == len(hosts) {
			return found
		}
		ip := fmt.Sprintf("127.%d.%d.%d", 1+rand.N(250), rand.N(250), 2+rand.N(250))
		free := true
		for _, port := range []int{redisPort, mysqlPort, postgresPort} {
			free = free && freeport.IsFree(ip+":"+strconv.Itoa(port))
		}
		if free {
			found[hosts[len(found)]] = ip
		}
	}
	t.Fatal("no loopback address has the ports of the page")
	return nil
}

// here returns a command with the addresses of the hosts.
func (m *mover) here(command string) string {
	return regexp.MustCompile(`\bold(-redis)?\b`).ReplaceAllStringFunc(command, func(host string) string { return m.hosts[host] })
}

// password belongs to all users of the old systems.
const password = "Correct-Horse"

// run runs a command of the page. The clients of the databases have their settings, as on the host of an administrator.
func (m *mover) run(command string) string {
	m.Helper()
	cmd := exec.CommandContext(m.Context(), "bash", "-eo", "pipefail", "-c", m.here(command))
	cmd.Dir = m.home
	cmd.Env = append(
		os.Environ(), "PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"), at(m.member)[0], "HOME="+m.home,
		"SNOWRAFT_SOURCE_PASSWORD="+password, "PGHOST="+m.hosts[oldHost], "PGUSER=app", "PGPASSWORD="+password, "PGSSLMODE=disable", "REDISCLI_AUTH="+password,
	)
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.Fatalf("$ %s\n%s%v", command, out, err)
	}
	return string(out)
}

// move plays an import: the plan of the page, then the fence. The way back names counters with --map, and says that the import has the
// same one.
func (m *mover) move(plan string) {
	m.Helper()
	kind := strings.Fields(plan)[2]
	c := m.counters[kind]
	if c == nil {
		m.Fatalf("no old system is a source for\n%s", plan)
	}
	if !strings.Contains(m.page, c.refusal) {
		m.Errorf("the page lacks the error %q", c.refusal)
	}
	for range 5 {
		c.draw(m.T, "an old program", c.old)
	}
	if out := m.run(plan); !strings.Contains(out, "create") || !strings.Contains(out, "Nothing was changed") {
		m.Errorf("$ %s\n%s", plan, out)
	}
	c.draw(m.T, "an old program after the plan", c.old)
	if same := regexp.MustCompile(`snowraft export ` + kind + ` .*?(--map '[^']*')`).FindStringSubmatch(m.page); same != nil {
		plan += " " + same[1]
	}
	if !strings.Contains(m.page, "`--fence --apply`") {
		m.Error("the page does not name the flags of the second step")
	}
	m.run(plan + " --fence --apply")
	n, err := c.old()
	for range c.segment {
		if err == nil {
			c.draw(m.T, "an old program from a segment", func() (int64, error) { return n, nil })
			n, err = c.old()
		}
	}
	if err == nil || !strings.Contains(err.Error(), c.refusal) {
		m.Errorf("an old program draws %d of %s after the fence: %v; want the error %q", n, c.sequence, err, c.refusal)
	}
	for range 3 {
		c.draw(m.T, "a new program", m.next(c.sequence))
	}
}

// next returns the call of a new program for a number.
func (m *mover) next(sequence string) func() (int64, error) {
	return func() (int64, error) {
		return strconv.ParseInt(strings.TrimSpace(mustSucceed(m.T, m.member, "seq", "next", sequence)), 10, 64)
	}
}

// moveBack plays the way back: the counters of its commands continue in the old systems.
func (m *mover) moveBack(commands string) {
	m.Helper()
	m.run(commands)
	kinds := regexp.MustCompile(`(?m)^snowraft export (\w+)`).FindAllStringSubmatch(commands, -1)
	if len(kinds) < 3 {
		m.Errorf("the way back has %d commands, want at least 3", len(kinds))
	}
	for _, kind := range kinds {
		c := m.counters[kind[1]]
		if _, stderr, code := command(m.T, at(m.member), "seq", "next", c.sequence); code == 0 || !strings.Contains(stderr, "SEQUENCE_MOVED") {
			m.Errorf("%s after the way back: exit code %d, %s", c.sequence, code, stderr)
		}
		for range 3 {
			c.draw(m.T, "an old program after the way back", c.old)
		}
	}
}

// createLayout creates the layout of Leaf's IDs, and calls the URL of the page for one.
func (m *mover) createLayout(command string) {
	m.Helper()
	m.run(command)
	url := regexp.MustCompile("`http://member:7701(/[a-z/]+)`").FindStringSubmatch(m.page)
	if url == nil {
		m.Fatal("the page has no URL for the layout")
	}
	resp, err := http.Get("http://" + m.member.http + url[1] + "/api/snowflake/get/any")
	if err != nil {
		m.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if _, malformed := strconv.ParseUint(string(body), 10, 64); err != nil || resp.StatusCode != http.StatusOK || malformed != nil {
		m.Errorf("%s: %s %s %v", url[1], resp.Status, body, err)
	}
}

// startOld starts the old systems, with a counter for each command of the page, and users that have only the rights on the page.
func (m *mover) startOld() {
	m.Helper()
	redisAt := m.hosts[oldRedis] + ":" + strconv.Itoa(redisPort)
	startRedisAt(m.T, redisAt, "--requirepass", password)
	conn, err := redis.Dial("tcp", redisAt, redis.DialPassword(password))
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() { _ = conn.Close() })

	folder := startPostgres(m.T, "-c", "listen_addresses="+m.hosts[oldHost], "-c", "port="+strconv.Itoa(postgresPort))
	admin := openDB(m.T, "postgres", "host="+folder+" user=postgres dbname=postgres")
	exec1(m.T, admin, "CREATE ROLE app LOGIN PASSWORD '"+password+"'")
	exec1(m.T, admin, "CREATE DATABASE shop OWNER app")
	pg := openDB(m.T, "postgres", "host="+folder+" user=app dbname=shop")
	exec1(m.T, pg, "CREATE TABLE orders (id BIGSERIAL PRIMARY KEY, item TEXT)")

	_, dsn := startMariaDB(m.T, "--skip-networking=0", "--skip-name-resolve", "--bind-address="+m.hosts[oldHost], "--port="+strconv.Itoa(mysqlPort))
	maria := openDB(m.T, "mysql", dsn)
	const identified = "IDENTIFIED BY '" + password + "'"
	for _, statement := range []string{
		"CREATE TABLE orders (id BIGINT PRIMARY KEY AUTO_INCREMENT, item VARCHAR(20))", "CREATE DATABASE leaf", "CREATE DATABASE tinyid",
		"CREATE USER app " + identified + ", leaf " + identified + ", tinyid " + identified, "GRANT SLAVE MONITOR ON *.* TO app, leaf, tinyid",
		"GRANT SELECT, INSERT, TRIGGER, ALTER ON shop.* TO app", "GRANT SELECT, UPDATE ON leaf.* TO leaf", "GRANT SELECT, UPDATE ON tinyid.* TO tinyid",
	} {
		exec1(m.T, maria, statement)
	}
	leaf, tinyid := openDB(m.T, "mysql", strings.TrimSuffix(dsn, "shop")+"leaf"), openDB(m.T, "mysql", strings.TrimSuffix(dsn, "shop")+"tinyid")
	exec1(m.T, leaf, leafTable)
	exec1(m.T, leaf, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('leaf-orders', 1, 30)")
	exec1(m.T, tinyid, tinyidTable)
	exec1(m.T, tinyid, "INSERT INTO tiny_id_info (biz_type, begin_id, max_id, step) VALUES ('tinyid-orders', 1, 1, 30)")
	mysqlrc := fmt.Sprintf("[client]\nhost=%s\nport=%d\nuser=app\npassword=%s\n", m.hosts[oldHost], mysqlPort, password)
	if err := os.WriteFile(filepath.Join(m.home, ".my.cnf"), []byte(mysqlrc), 0o600); err != nil {
		m.Fatal(err)
	}

	m.counters = map[string]*moved{
		"redis": {sequence: "orders/eu", refusal: "ERR value is not an integer", old: func() (int64, error) { return redis.Int64(conn.Do("INCR", "order:eu")) }},
		"postgres": {sequence: "orders_id_seq", refusal: "reached maximum value of sequence", old: func() (n int64, err error) {
			err = pg.QueryRowContext(context.Background(), "INSERT INTO orders (item) VALUES ('old') RETURNING id").Scan(&n)
			return n, err
		}},
		"mysql": {sequence: "orders", refusal: "IDs of this table come from Snowraft", old: func() (int64, error) {
			result, err := maria.Exec("INSERT INTO orders (item) VALUES ('old')")
			if err != nil {
				return 0, err
			}
			return result.LastInsertId()
		}},
		"leaf":   {sequence: "leaf-orders", segment: 30, old: drawLeaf(leaf, "leaf-orders")},
		"tinyid": {sequence: "tinyid-orders", segment: 30, old: drawTinyid(tinyid, "tinyid-orders")},
	}
}
