//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

// virtual is the address of the primary, which an operator moves.
const virtual = "10.77.0.200"

// mariadbSystems are a primary with a replica, which an operator promotes. Applications take segments as Leaf does.
func mariadbSystems() []system {
	const title = "MariaDB, statement of Leaf (segments of 100), replica promoted"
	all := []struct {
		name, settings string
		flags          []string
	}{
		{"mariadb", "asynchronous replication (the default)", nil},
		{"mariadb-semisync", "semi-synchronous, `AFTER_SYNC`, without a timeout", []string{
			"--rpl-semi-sync-master-enabled=1", "--rpl-semi-sync-slave-enabled=1", "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
			"--rpl-semi-sync-master-timeout=4294967295",
		}},
	}
	var systems []system
	for _, s := range all {
		systems = append(systems, system{name: s.name, title: title, settings: s.settings, version: output("/usr/sbin/mariadbd", "--no-defaults", "--version"),
			start: func(ctx context.Context, p *play) (func(int) *spec, error) {
				err := startMariadb(ctx, p, s.flags)
				return func(int) *spec { return driver("leaf", virtual) }, err
			}})
	}
	return systems
}

// mariadb is the database of an operator.
type mariadb struct{ play *play }

func startMariadb(ctx context.Context, p *play, flags []string) error {
	db := mariadb{play: p}
	for i := range 2 {
		b, err := p.host(ctx, fmt.Sprint("mariadb", i+1))
		if err != nil {
			return err
		}
		p.servers = append(p.servers, b)
		if err := b.own("mysql"); err != nil {
			return err
		}
		b.cast = []*spec{{path: "/usr/sbin/mariadbd", account: "mysql", args: append([]string{
			"--no-defaults", "--datadir=" + db.data(b), "--socket=" + filepath.Join(b.dir, "socket"), "--bind-address=0.0.0.0", "--skip-name-resolve",
			"--log-bin=log", fmt.Sprint("--server-id=", i+1), "--log-slave-updates", "--gtid-strict-mode=0", "--read-only=0",
			"--innodb-buffer-pool-size=16M", "--performance-schema=0", "--pid-file=" + filepath.Join(b.dir, "pid"),
		}, flags...)}}
		if err := db.install(ctx, b); err != nil {
			return err
		}
	}
	first, second := p.servers[0], p.servers[1]
	// Without the log: a semi-synchronous primary would wait for a replica.
	if err := db.exec(ctx, first, "SET sql_log_bin = 0; CREATE DATABASE leaf; "+
		"CREATE TABLE leaf.leaf_alloc (biz_tag varchar(128) NOT NULL PRIMARY KEY, max_id bigint NOT NULL, step int NOT NULL) ENGINE=InnoDB; "+
		"INSERT INTO leaf.leaf_alloc VALUES ('orders', 1, 100)"); err != nil {
		return err
	}
	if err := db.rebuild(ctx, second, first); err != nil {
		return err
	}
	if err := first.run(ctx, "", "ip", "addr", "add", virtual+"/24", "dev", "eth0"); err != nil {
		return err
	}
	watch(ctx, p, db)
	return nil
}

func (mariadb) data(b *box) string { return filepath.Join(b.dir, "data") }

// install starts the server with no data.
func (db mariadb) install(ctx context.Context, b *box) error {
	if err := os.RemoveAll(db.data(b)); err != nil {
		return err
	}
	if err := b.own("mysql", db.data(b)); err != nil {
		return err
	}
	if err := b.run(ctx, "mysql", "/usr/bin/mariadb-install-db", "--no-defaults", "--datadir="+db.data(b), "--auth-root-authentication-method=normal", "--skip-test-db"); err != nil {
		return err
	}
	if err := b.restart(0); err != nil {
		return err
	}
	// The root of a new server may connect from this machine only, by its socket.
	return until(ctx, b.Name+" answers", func() bool {
		return b.run(ctx, "", "/usr/bin/mariadb", "--no-defaults", "-uroot", "--socket="+filepath.Join(b.dir, "socket"), "-e",
			"SET sql_log_bin=0; CREATE OR REPLACE USER app@'%'; GRANT ALL ON *.* TO app@'%' WITH GRANT OPTION") == nil
	})
}

func (mariadb) exec(ctx context.Context, b *box, statement string) error {
	db, err := sql.Open("mysql", "app@tcp("+b.IP+")/?timeout=1s&multiStatements=true")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(ctx, statement)
	return err
}

func (db mariadb) alive(ctx context.Context, b *box) bool { return db.exec(ctx, b, "DO 1") == nil }

// promote moves the virtual address too.
func (db mariadb) promote(ctx context.Context, b *box) error {
	for _, statement := range []string{"STOP SLAVE", "RESET SLAVE ALL"} {
		if err := db.exec(ctx, b, statement); err != nil {
			return err
		}
	}
	if err := b.run(ctx, "", "ip", "addr", "replace", virtual+"/24", "dev", "eth0"); err != nil {
		return err
	}
	return db.announce(ctx)
}

// announce does what a gratuitous ARP does.
func (db mariadb) announce(ctx context.Context) error {
	for _, a := range db.play.apps {
		if err := a.run(ctx, "", "ip", "neigh", "flush", "all"); err != nil {
			return err
		}
	}
	return nil
}

func (db mariadb) rebuild(ctx context.Context, b, from *box) error {
	_ = b.run(ctx, "", "ip", "addr", "del", virtual+"/24", "dev", "eth0") // may not be there
	b.kill()
	if err := db.install(ctx, b); err != nil {
		return err
	}
	// The dump begins with the position from which the replica continues. It is not written to the replica's log, because a
	// semi-synchronous server would wait for a replica of its own.
	dump, local := filepath.Join(b.dir, "dump.sql"), "mariadb --no-defaults -uroot --socket="+filepath.Join(b.dir, "socket")
	script := "set -e\n" +
		"mariadb-dump --no-defaults -uapp -h" + from.IP + " --databases leaf --master-data=1 --gtid --single-transaction > " + dump + "\n" +
		local + " -e \"CHANGE MASTER TO MASTER_HOST='" + from.IP + "', MASTER_USER='app', MASTER_CONNECT_RETRY=1, MASTER_USE_GTID=slave_pos; RESET MASTER\"\n" +
		"{ echo 'SET sql_log_bin = 0;'; cat " + dump + "; } | " + local + "\n"
	if err := b.run(ctx, "", "/bin/sh", "-c", script); err != nil {
		return err
	}
	return errors.Join(db.exec(ctx, b, "START SLAVE"), db.announce(ctx))
}

// driveLeaf takes segments with the statements of Leaf, and numbers from its segment.
func driveLeaf(args []string) (source, error) {
	db, err := sql.Open("mysql", "app@tcp("+args[0]+")/leaf?timeout=1s&readTimeout=1s&writeTimeout=1s")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	db.SetConnMaxLifetime(time.Minute)
	var next, end int64 // the segment is [next, end)
	return func(ctx context.Context) (string, error) {
		if next == end {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return "", err
			}
			defer func() { _ = tx.Rollback() }() // nothing after the commit
			if _, err := tx.ExecContext(ctx, "UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'orders'"); err != nil {
				return "", err
			}
			var most, step int64
			if err := tx.QueryRowContext(ctx, "SELECT max_id, step FROM leaf_alloc WHERE biz_tag = 'orders'").Scan(&most, &step); err != nil {
				return "", err
			}
			if err := tx.Commit(); err != nil {
				return "", err
			}
			next, end = most-step, most
		}
		next++
		return strconv.FormatInt(next-1, 10), nil
	}, nil
}
