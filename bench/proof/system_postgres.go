//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// postgresSystems are a primary with a standby, which an operator promotes.
func postgresSystems() []system {
	const (
		next   = "SELECT nextval('orders')"
		insert = "INSERT INTO orders_of_shop DEFAULT VALUES RETURNING id"
		sync   = "synchronous_standby_names = '*'\nsynchronous_commit = remote_apply\n"
	)
	all := []struct{ name, title, settings, conf, statement string }{
		{"postgres", "PostgreSQL, `nextval`, standby promoted", "asynchronous standby (the default)", "", next},
		{"postgres-sync", "PostgreSQL, `nextval`, standby promoted", "`synchronous_standby_names = '*'`, `synchronous_commit = remote_apply`", sync, next},
		{"postgres-insert", "PostgreSQL, identity column of an `INSERT`, standby promoted", "the same: the commit of a row waits for the standby, `nextval` alone does not", sync, insert},
	}
	var systems []system
	for _, s := range all {
		systems = append(systems, system{name: s.name, title: s.title, settings: s.settings, version: output(postgresProgram("postgres"), "--version"),
			start: func(ctx context.Context, p *play) (func(int) *spec, error) {
				err := startPostgres(ctx, p, s.conf)
				return func(int) *spec { return driver("postgres", p.servers[0].IP, p.servers[1].IP, s.statement) }, err
			}})
	}
	return systems
}

// postgresProgram returns the path of a program of Debian's postgresql, whose folder has the version.
func postgresProgram(name string) string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return name
	}
	return found[len(found)-1]
}

// postgres is the database of an operator. Its server has this configuration.
type postgres struct{ conf string }

func startPostgres(ctx context.Context, p *play, conf string) error {
	db := postgres{conf: conf + "max_wal_senders = 10\nhot_standby = on\nunix_socket_directories = ''\nlisten_addresses = '*'\n"}
	for i := range 2 {
		b, err := p.host(ctx, fmt.Sprint("postgres", i+1))
		if err != nil {
			return err
		}
		p.servers = append(p.servers, b)
	}
	first, second := p.servers[0], p.servers[1]
	if err := first.own("postgres"); err != nil {
		return err
	}
	if err := first.run(ctx, "postgres", postgresProgram("initdb"), "-D", db.data(first), "-A", "trust", "-U", "postgres"); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(db.data(first), "pg_hba.conf"), []byte("host all postgres 0.0.0.0/0 trust\nhost replication postgres 0.0.0.0/0 trust\n"), 0o644); err != nil {
		return err
	}
	conffile, err := os.OpenFile(filepath.Join(db.data(first), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := conffile.WriteString(db.conf); err != nil {
		return err
	}
	if err := conffile.Close(); err != nil {
		return err
	}
	server := func(b *box) *spec {
		return &spec{path: postgresProgram("postgres"), args: []string{"-D", db.data(b)}, account: "postgres"}
	}
	if err := first.start(server(first)); err != nil {
		return err
	}
	if err := until(ctx, "PostgreSQL answers", func() bool { return db.alive(ctx, first) }); err != nil {
		return err
	}
	if err := second.own("postgres"); err != nil {
		return err
	}
	second.cast = []*spec{server(second)}
	if err := db.rebuild(ctx, second, first); err != nil {
		return err
	}
	for _, statement := range []string{"CREATE SEQUENCE orders", "CREATE TABLE orders_of_shop (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)"} {
		if err := db.exec(ctx, first, statement); err != nil {
			return err
		}
	}
	watch(ctx, p, db)
	return nil
}

func (postgres) data(b *box) string { return filepath.Join(b.dir, "data") }

func (postgres) connect(ctx context.Context, b *box) (*pgx.Conn, error) {
	return pgx.Connect(ctx, "postgres://postgres@"+b.IP+"/postgres?sslmode=disable")
}

func (db postgres) exec(ctx context.Context, b *box, statement string) error {
	c, err := db.connect(ctx, b)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	_, err = c.Exec(ctx, statement)
	return err
}

func (db postgres) alive(ctx context.Context, b *box) bool { return db.exec(ctx, b, "SELECT 1") == nil }

func (db postgres) promote(ctx context.Context, b *box) error {
	return db.exec(ctx, b, "SELECT pg_promote()")
}

func (db postgres) rebuild(ctx context.Context, b, from *box) error {
	b.kill()
	if err := os.RemoveAll(db.data(b)); err != nil {
		return err
	}
	if err := b.run(ctx, "postgres", postgresProgram("pg_basebackup"), "-h", from.IP, "-U", "postgres", "-D", db.data(b), "-R", "-X", "stream", "-c", "fast"); err != nil {
		return err
	}
	if err := b.restart(0); err != nil {
		return err
	}
	return until(ctx, b.Name+" replicates", func() bool { return db.alive(ctx, b) })
}

// drivePostgres takes numbers from the server that accepts writes, which the client finds itself, by the statement in the last argument.
func drivePostgres(args []string) (source, error) {
	config, err := pgx.ParseConfig(fmt.Sprintf("postgres://postgres@%s,%s/postgres?sslmode=disable&connect_timeout=1&target_session_attrs=read-write", args[0], args[1]))
	if err != nil {
		return nil, err
	}
	var c *pgx.Conn
	return func(ctx context.Context) (string, error) {
		if c == nil || c.IsClosed() {
			if c, err = pgx.ConnectConfig(ctx, config); err != nil {
				return "", err
			}
		}
		var n int64
		err := c.QueryRow(ctx, args[2]).Scan(&n)
		return strconv.FormatInt(n, 10), err
	}, nil
}
