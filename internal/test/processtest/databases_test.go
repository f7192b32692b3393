//go:build databases

package processtest

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gomodule/redigo/redis"
	_ "github.com/lib/pq" // a driver of database/sql

	"github.com/snowraft/snowraft/internal/test/freeport"
)

// startRedis starts a Redis and returns its address.
func startRedis(t *testing.T, flags ...string) string {
	t.Helper()
	address := freeport.Address(t)
	startRedisAt(t, address, flags...)
	return address
}

// startRedisAt starts a Redis at an address.
func startRedisAt(t *testing.T, address string, flags ...string) {
	t.Helper()
	host, port, _ := net.SplitHostPort(address)
	startProgram(t, installed(t, "redis-server", "redis-server"), nil, append([]string{"--port", port, "--bind", host, "--dir", t.TempDir()}, flags...)...)
	until(t, "Redis to answer", func() bool {
		conn, err := redis.Dial("tcp", address)
		if err != nil {
			return false
		}
		defer conn.Close()
		_, err = conn.Do("PING")
		return err == nil || strings.HasPrefix(err.Error(), "NOAUTH ")
	})
}

// startMariaDB starts a MariaDB with an empty database shop and returns its address for import, and for Go's driver. It listens at a
// socket, unless flags say otherwise.
func startMariaDB(t *testing.T, flags ...string) (address, dsn string) {
	t.Helper()
	folder, account := owned(t, "mysql")
	run := func(args ...string) *exec.Cmd {
		cmd := exec.Command(args[0], append([]string{"--no-defaults", "--datadir=" + folder + "/data"}, args[1:]...)...)
		cmd.SysProcAttr = account
		return cmd
	}
	if out, err := run(installed(t, "mariadb-install-db", "mariadb-server"), "--auth-root-authentication-method=normal", "--skip-test-db").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	socket := folder + "/socket"
	flags = append([]string{"/usr/sbin/mariadbd", "--socket=" + socket, "--skip-networking", "--max-connections=200", "--innodb-flush-log-at-trx-commit=0"}, flags...)
	server := run(flags...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	dsn = "root@unix(" + socket + ")/"
	db := openDB(t, "mysql", dsn)
	until(t, "MariaDB to answer", func() bool { return db.Ping() == nil })
	exec1(t, db, "CREATE DATABASE shop")
	return "mysql://root@local/shop?socket=" + socket, dsn + "shop"
}

// startPostgres starts a PostgreSQL and returns the folder of its socket. It listens there only, unless options say otherwise.
func startPostgres(t *testing.T, options ...string) string {
	t.Helper()
	folder, account := owned(t, "postgres")
	versions, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(versions) == 0 {
		t.Fatal("this test needs Debian's postgresql")
	}
	run := func(name string, args ...string) {
		cmd := exec.Command(filepath.Join(versions[len(versions)-1], name), append([]string{"-D", folder + "/data"}, args...)...)
		cmd.SysProcAttr, cmd.Dir = account, folder
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	run("initdb", "-A", "trust", "-U", "postgres", "--no-sync")
	if err := os.WriteFile(folder+"/data/pg_hba.conf", []byte("local all postgres,app,reader trust\nhost shop app 127.0.0.0/8 scram-sha-256\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	options = append([]string{"-k", folder, "-c", "listen_addresses=''", "-c", "fsync=off"}, options...)
	run("pg_ctl", "start", "-w", "-t", strconv.Itoa(int(patience.Seconds())), "-l", folder+"/log", "-o", strings.Join(options, " "))
	t.Cleanup(func() { run("pg_ctl", "stop", "-w", "-t", strconv.Itoa(int(patience.Seconds())), "-m", "immediate") })
	return folder
}

// owned returns an empty folder, which belongs to an account if the test is root, and what makes a process run as that account.
func owned(t *testing.T, account string) (folder string, as *syscall.SysProcAttr) {
	t.Helper()
	folder, err := os.MkdirTemp("", "snowraft-"+account) //nolint:usetesting // the account may not enter that of the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if os.Geteuid() != 0 {
		return folder, nil
	}
	u, err := user.Lookup(account)
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(folder, uid, gid); err != nil {
		t.Fatal(err)
	}
	return folder, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

func openDB(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func exec1(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", statement, err))
	}
}
