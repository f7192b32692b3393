package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// openMySQL connects to a database of MySQL or MariaDB, by an address such as mysql://user@host:3306/shop.
func openMySQL(ctx context.Context, address, password string) (*sql.DB, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "mysql" && u.Scheme != "mariadb" || len(strings.TrimPrefix(u.Path, "/")) == 0 {
		return nil, errors.New("address of MySQL: expected mysql://USER@HOST:PORT/DATABASE") // without the address, which may have a password
	}
	config := mysql.NewConfig()
	config.User = u.User.Username()
	if config.Passwd, _ = u.User.Password(); config.Passwd == "" {
		config.Passwd = password
	}
	config.Net, config.Addr, config.DBName = "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	if u.Port() == "" {
		config.Addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	if socket := u.Query().Get("socket"); socket != "" {
		config.Net, config.Addr = "unix", socket
	}
	config.TLSConfig = u.Query().Get("tls")
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1) // settings of the session hold for all statements
	if err := checkPrimary(ctx, db); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// checkPrimary fails on a replica, whose numbers are behind.
func checkPrimary(ctx context.Context, db *sql.DB) error {
	var readOnly bool
	if err := db.QueryRowContext(ctx, "SELECT @@global.read_only").Scan(&readOnly); err != nil {
		return err
	}
	replica := readOnly
	if !replica {
		rows, err := db.QueryContext(ctx, "SHOW SLAVE STATUS")
		if err != nil {
			rows, err = db.QueryContext(ctx, "SHOW REPLICA STATUS") // MySQL 8.4
		}
		if err != nil {
			return fmt.Errorf("cannot see whether the server is a replica; grant REPLICATION CLIENT (MariaDB: SLAVE MONITOR): %w", err)
		}
		replica = rows.Next()
		_ = rows.Close()
		if err := rows.Err(); err != nil {
			return err
		}
	}
	if replica {
		return errors.New("the server is a replica or read-only: import from its primary")
	}
	return nil
}

// columnSource is the AUTO_INCREMENT columns of a database.
type columnSource struct{ db *sql.DB }

func openColumns(ctx context.Context, address, password string) (source, error) {
	db, err := openMySQL(ctx, address, password)
	if err != nil {
		return nil, err
	}
	s := &columnSource{db}
	// MySQL 8 shows counters that are a day old, unless a session wants present ones. MariaDB has no such variable.
	_, _ = db.ExecContext(ctx, "SET SESSION information_schema_stats_expiry = 0")
	var step int64
	err = db.QueryRowContext(ctx, "SELECT @@global.auto_increment_increment").Scan(&step)
	if err == nil && step != 1 {
		err = fmt.Errorf("auto_increment_increment is %d: several servers generate IDs of the same tables; stop all but one, set it to 1 there, and repeat the import", step)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

const columnQuery = `
SELECT c.TABLE_NAME, c.COLUMN_NAME, t.AUTO_INCREMENT,
  EXISTS (SELECT 1 FROM information_schema.TRIGGERS g
    WHERE g.TRIGGER_SCHEMA = c.TABLE_SCHEMA AND g.EVENT_OBJECT_TABLE = c.TABLE_NAME AND g.TRIGGER_NAME LIKE 'moved\_to\_snowraft%')
FROM information_schema.COLUMNS c JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME)
WHERE c.TABLE_SCHEMA = DATABASE() AND c.EXTRA LIKE '%auto_increment%' ORDER BY 1`

func (s *columnSource) counters(ctx context.Context, match func(string) bool) ([]counter, error) {
	counters, _, err := s.read(ctx, match)
	return counters, err
}

// read returns the matching counters, and the columns that they fill.
func (s *columnSource) read(ctx context.Context, match func(string) bool) (counters []counter, columns []string, err error) {
	rows, err := s.db.QueryContext(ctx, columnQuery)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var column string
		var next sql.Null[int64]
		c := counter{increment: 1}
		if err := rows.Scan(&c.name, &column, &next, &c.fenced); err != nil {
			return nil, nil, err
		}
		if !match(c.name) {
			continue
		}
		if !next.Valid {
			return nil, nil, fmt.Errorf("table %q: its AUTO_INCREMENT is unknown; grant this user SELECT on the table", c.name)
		}
		c.last, c.used = next.V-1, next.V > 1
		counters, columns = append(counters, c), append(columns, column)
	}
	return counters, columns, rows.Err()
}

// fence refuses rows without an ID by a trigger, in which a generated ID is still 0. Rows with an ID pass. The statement waits for the
// transactions that use the table, so the counter that is read after it counts all their rows.
func (s *columnSource) fence(ctx context.Context, table string) (c counter, err error) {
	is := func(name string) bool { return name == table }
	counters, columns, err := s.read(ctx, is)
	if err == nil && len(counters) == 0 {
		err = fmt.Errorf("table %q is gone", table)
	}
	if err != nil || counters[0].fenced {
		return first(counters), err
	}
	column := backticks(columns[0])
	_, err = s.db.ExecContext(ctx, fmt.Sprintf(`CREATE TRIGGER %s BEFORE INSERT ON %s FOR EACH ROW
IF NEW.%s = 0 OR NEW.%[3]s IS NULL THEN
  SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'IDs of this table come from Snowraft: insert the row with one';
END IF`, backticks(triggerName(table)), backticks(table), column))
	if err != nil {
		return c, err
	}
	counters, _, err = s.read(ctx, is)
	if err == nil && (len(counters) == 0 || !counters[0].fenced) {
		err = fmt.Errorf("table %q: the trigger of the fence is not there; grant this user TRIGGER on the table", table)
	}
	return first(counters), err
}

func first(counters []counter) (c counter) {
	if len(counters) > 0 {
		c = counters[0]
	}
	return c
}

// triggerName returns the name of a table's trigger, at most 64 characters long.
func triggerName(table string) string {
	name := []rune("moved_to_snowraft_" + table)
	return string(name[:min(len(name), 64)])
}

func backticks(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// settle does nothing: the server writes definitions of triggers durably.
func (s *columnSource) settle(context.Context) error { return nil }

func (s *columnSource) close() { _ = s.db.Close() }
