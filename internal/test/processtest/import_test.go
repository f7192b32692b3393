//go:build databases

package processtest

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/gomodule/redigo/redis"

	"github.com/snowraft/snowraft/client"
)

// drawers is the number of old programs, and of new ones, that draw numbers at the same time.
const drawers = 20

// move is a counter that moves to the sequence orders while programs draw numbers.
type move struct {
	source []string                                        // arguments of the command import
	drawer func(t *testing.T) (draw func() (int64, error)) // the calls of an old program for one number
	use    func(n int64) error                             // the use of a number by a new program; nil if it only counts
	client []string                                        // the command that reads the statements of the way back
	// refusal is in the errors that old programs get after the fence.
	refusal string
}

// play moves the counter, and compares the numbers of all programs.
func (m move) play(t *testing.T) {
	t.Helper()
	members := startCluster(t, 1)
	run := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		stdout, stderr, code := command(t, at(members[0]), append(append([]string{"import"}, m.source...), args...)...)
		if code != want {
			t.Fatalf("import %v: exit code %d, want %d\n%s%s", args, code, want, stdout, stderr)
		}
		return stdout, stderr
	}
	var mu sync.Mutex
	drawn := make(map[int64]string)
	record := func(n int64, by string) {
		mu.Lock()
		defer mu.Unlock()
		if other := drawn[n]; other != "" {
			t.Errorf("number %d came to %s and to %s", n, other, by)
		}
		drawn[n] = by
	}

	var old sync.WaitGroup
	var busy sync.WaitGroup // until each old program has some numbers
	busy.Add(drawers)
	for range drawers {
		draw := m.drawer(t)
		old.Go(func() {
			for i := 0; ; i++ {
				n, err := draw()
				if i == 10 || err != nil && i < 10 {
					busy.Done()
				}
				if err != nil {
					if !strings.Contains(err.Error(), m.refusal) {
						t.Errorf("an old program gets the error %v, want %q", err, m.refusal)
					}
					return // refused by the fence
				}
				record(n, "an old program")
			}
		})
	}
	busy.Wait()
	if stdout, _ := run(0); !strings.Contains(stdout, "create") || !strings.Contains(stdout, "Nothing was changed") {
		t.Errorf("dry run: %s", stdout)
	}
	if _, stderr := run(2, "--apply"); !strings.Contains(stderr, "--fence") {
		t.Errorf("apply alone: %s", stderr)
	}
	if _, stderr, code := command(t, at(members[0]), "seq", "get", "orders"); code == 0 {
		t.Errorf("a refused import created the sequence: %s", stderr)
	}
	run(0, "--apply", "--fence")
	old.Wait()

	c, err := client.New([]string{members[0].api})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var fresh sync.WaitGroup
	for range drawers {
		fresh.Go(func() {
			for range 20 {
				n, err := c.Sequence("orders").Next(context.Background())
				if err == nil && m.use != nil {
					err = m.use(n)
				}
				if err != nil {
					t.Error(err)
					return
				}
				record(n, "a new program")
			}
		})
	}
	fresh.Wait()
	if n, err := m.drawer(t)(); err == nil {
		t.Errorf("an old program that starts later gets %d", n)
	}
	if stdout, _ := run(0, "--apply", "--fence"); !strings.Contains(stdout, "unchanged") {
		t.Errorf("a second import: %s", stdout)
	}
	m.playBack(t, members[0], c, record)
	if stdout, _ := run(0, "--apply", "--fence"); !strings.Contains(stdout, "resume") {
		t.Errorf("a third import: %s", stdout)
	}
	for range 20 {
		n, err := c.Sequence("orders").Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		record(n, "a new program, after the sequence came back")
	}
}

func TestImportRedis(t *testing.T) {
	address := startRedis(t)
	host, port, _ := net.SplitHostPort(address)
	replica := startRedis(t, "--replicaof", host+" "+port)
	until(t, "the replica to follow", func() bool {
		conn, err := redis.Dial("tcp", address)
		if err != nil {
			return false
		}
		defer conn.Close()
		n, err := redis.Int(conn.Do("WAIT", 1, 100))
		return err == nil && n == 1
	})
	if _, stderr, code := command(t, nil, "import", "redis", "redis://"+replica); code != 1 || !strings.Contains(stderr, "replica") {
		t.Errorf("import from a replica: exit code %d, %s", code, stderr)
	}
	move{
		source:  []string{"redis", "redis://" + address + "/0", "--match", "old:*", "--map", "old:*=*"},
		client:  []string{installed(t, "redis-cli", "redis-tools"), "-e", "-p", port},
		refusal: "value is not an integer",
		drawer: func(t *testing.T) func() (int64, error) {
			conn, err := redis.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			return func() (int64, error) { return redis.Int64(conn.Do("INCR", "old:orders")) }
		},
	}.play(t)
}

func TestImportPostgres(t *testing.T) {
	folder := startPostgres(t)
	db := openDB(t, "postgres", "host="+folder+" user=postgres dbname=postgres")
	exec1(t, db, "CREATE SEQUENCE orders CACHE 7")
	exec1(t, db, "CREATE TABLE rows (id BIGINT PRIMARY KEY DEFAULT nextval('orders'), item TEXT)")
	exec1(t, db, "CREATE SEQUENCE unused")
	move{
		source: []string{"postgres", "postgres://postgres@/postgres?host=" + folder, "--match", "orders"},
		client: []string{installed(t, "psql", "postgresql-client"), "-h", folder, "-U", "postgres", "-v", "ON_ERROR_STOP=1"},
		drawer: func(t *testing.T) func() (int64, error) {
			conn, err := db.Conn(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			return func() (n int64, err error) {
				err = conn.QueryRowContext(context.Background(), "INSERT INTO rows (item) VALUES ('old') RETURNING id").Scan(&n)
				return n, err
			}
		},
		use: func(n int64) error {
			_, err := db.Exec("INSERT INTO rows (id, item) VALUES ($1, 'new')", n)
			return err
		},
		refusal: "reached maximum value of sequence",
	}.play(t)

	// A number that cannot be read is unknown, not unused.
	exec1(t, db, "CREATE ROLE reader LOGIN")
	members := startCluster(t, 1)
	_, stderr, code := command(t, at(members[0]), "import", "postgres", "postgres://reader@/postgres?host="+folder, "--writers-stopped", "--apply")
	if code != 1 || !strings.Contains(stderr, "unknown") {
		t.Errorf("without SELECT: exit code %d, %s", code, stderr)
	}
	if stdout, _, _ := command(t, at(members[0]), "seq", "list"); strings.Contains(stdout, "orders") {
		t.Errorf("without SELECT: %s", stdout)
	}
}

// mariaClient returns the command that reads statements for the database of an address.
func mariaClient(t *testing.T, address string) []string {
	t.Helper()
	_, socket, _ := strings.Cut(address, "?socket=")
	return []string{installed(t, "mariadb", "mariadb-client"), "--no-defaults", "--socket=" + socket, "-u", "root", "shop"}
}

func TestImportMySQL(t *testing.T) {
	address, dsn := startMariaDB(t)
	db := openDB(t, "mysql", dsn)
	exec1(t, db, "CREATE TABLE orders (id BIGINT PRIMARY KEY AUTO_INCREMENT, item VARCHAR(20))")
	move{
		source: []string{"mysql", address},
		client: mariaClient(t, address),
		drawer: func(*testing.T) func() (int64, error) {
			return func() (int64, error) {
				result, err := db.Exec("INSERT INTO orders (item) VALUES ('old')")
				if err != nil {
					return 0, err
				}
				return result.LastInsertId()
			}
		},
		use: func(n int64) error {
			_, err := db.Exec("INSERT INTO orders (id, item) VALUES (?, 'new')", n)
			return err
		},
		refusal: "IDs of this table come from Snowraft",
	}.play(t)
}

// errNoRow is the failure of a server whose row is gone.
var errNoRow = errors.New("no such row")

// segments returns numbers of segments that a transaction takes.
func segments(take func() (from, to int64, err error)) func() (int64, error) {
	var next, end int64
	return func() (int64, error) {
		if next == end {
			var err error
			if next, end, err = take(); err != nil {
				return 0, err
			}
		}
		next++
		return next - 1, nil
	}
}

// leafTable creates the table of Leaf.
const leafTable = `CREATE TABLE leaf_alloc (biz_tag VARCHAR(128) NOT NULL DEFAULT '' PRIMARY KEY, max_id BIGINT NOT NULL DEFAULT 1,
	step INT NOT NULL, description VARCHAR(256), update_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)`

// drawLeaf returns the calls of a program for numbers of a server of Leaf, which takes segments as Leaf does.
func drawLeaf(db *sql.DB, tag string) func() (int64, error) {
	return segments(func() (from, to int64, err error) {
		var step int64
		err = inTransaction(db, func(tx *sql.Tx) error {
			if err := changed(tx.Exec("UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = ?", tag)); err != nil {
				return err
			}
			return tx.QueryRow("SELECT max_id, step FROM leaf_alloc WHERE biz_tag = ?", tag).Scan(&to, &step)
		})
		return to - step, to, err
	})
}

func TestImportLeaf(t *testing.T) {
	address, dsn := startMariaDB(t)
	db := openDB(t, "mysql", dsn)
	exec1(t, db, leafTable)
	exec1(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1, 30)")
	move{
		source:  []string{"leaf", address},
		client:  mariaClient(t, address),
		refusal: errNoRow.Error(),
		drawer:  func(*testing.T) func() (int64, error) { return drawLeaf(db, "orders") },
	}.play(t)
}

// tinyidTable creates the table of tinyid.
const tinyidTable = `CREATE TABLE tiny_id_info (id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, biz_type VARCHAR(63) NOT NULL UNIQUE, begin_id BIGINT NOT NULL,
	max_id BIGINT NOT NULL, step INT, delta INT NOT NULL DEFAULT 1, remainder INT NOT NULL DEFAULT 0, version BIGINT NOT NULL DEFAULT 0)`

// drawTinyid returns the calls of a program for numbers of a server of tinyid, which takes segments as tinyid does.
func drawTinyid(db *sql.DB, kind string) func() (int64, error) {
	return segments(func() (from, to int64, err error) {
		for {
			var id, step, version int64
			err = db.QueryRow("SELECT id, max_id, step, version FROM tiny_id_info WHERE biz_type = ? LIMIT 1", kind).Scan(&id, &from, &step, &version)
			if err != nil {
				return 0, 0, err
			}
			err = changed(db.Exec("UPDATE tiny_id_info SET max_id = ?, version = version + 1 WHERE id = ? AND max_id = ? AND version = ? AND biz_type = ?", from+step, id, from, version, kind))
			if deadlock, ok := errors.AsType[*mysql.MySQLError](err); ok && deadlock.Number == 1213 || errors.Is(err, errNoRow) {
				continue // another server was first
			}
			return from + 1, from + step + 1, err
		}
	})
}

func TestImportTinyid(t *testing.T) {
	address, dsn := startMariaDB(t)
	db := openDB(t, "mysql", dsn)
	exec1(t, db, tinyidTable)
	exec1(t, db, "INSERT INTO tiny_id_info (biz_type, begin_id, max_id, step) VALUES ('orders', 1, 1, 30)")
	move{
		source:  []string{"tinyid", address},
		client:  mariaClient(t, address),
		refusal: sql.ErrNoRows.Error(),
		drawer:  func(*testing.T) func() (int64, error) { return drawTinyid(db, "orders") },
	}.play(t)
}

// changed returns an error unless a statement changed a row.
func changed(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, errNoRow)
	}
	return nil
}

func inTransaction(db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// TestImportCreatesWithDeltas continues counters with other steps, and refuses what it cannot continue.
func TestImportCreatesWithDeltas(t *testing.T) {
	address, dsn := startMariaDB(t)
	db := openDB(t, "mysql", dsn)
	exec1(t, db, `CREATE TABLE tiny_id_info (biz_type VARCHAR(63) NOT NULL UNIQUE, max_id BIGINT NOT NULL, delta INT NOT NULL, remainder INT NOT NULL)`)
	exec1(t, db, "INSERT INTO tiny_id_info VALUES ('odd', 100, 2, 1), ('even', 100, 2, 0), ('third', 0, 3, 2)")
	members := startCluster(t, 1)
	if _, stderr, code := command(t, at(members[0]), "import", "tinyid", address, "--apply", "--fence"); code != 0 {
		t.Fatal(stderr)
	}
	for name, want := range map[string]int64{"odd": 101, "even": 102, "third": 2} {
		stdout, stderr, _ := command(t, at(members[0]), "seq", "next", name)
		if strings.TrimSpace(stdout) != strconv.FormatInt(want, 10) {
			t.Errorf("%s begins at %s%s, want %d", name, stdout, stderr, want)
		}
	}
}
