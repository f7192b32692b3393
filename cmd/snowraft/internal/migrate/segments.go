package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// movedKey begins the key of a row that was moved: the statements of Leaf and tinyid no longer find it.
const movedKey = "moved to snowraft: "

// segmentSource is a table of which servers take segments: Leaf's leaf_alloc or tinyid's tiny_id_info. The servers issue numbers up
// to the maximum in the table from memory, so the maximum is the last number that they may have issued.
type segmentSource struct {
	db         *sql.DB
	table, key string
	step       string // SQL of the difference of consecutive numbers, and of their remainder
	keyBytes   int
}

func openLeaf(ctx context.Context, address, password string) (source, error) {
	return openSegments(ctx, address, password, segmentSource{table: "leaf_alloc", key: "biz_tag", step: "1, 0", keyBytes: 128})
}

func openTinyid(ctx context.Context, address, password string) (source, error) {
	return openSegments(ctx, address, password, segmentSource{table: "tiny_id_info", key: "biz_type", step: "delta, remainder", keyBytes: 63})
}

func openSegments(ctx context.Context, address, password string, s segmentSource) (source, error) {
	db, err := openMySQL(ctx, address, password)
	if err != nil {
		return nil, err
	}
	s.db = db
	return &s, nil
}

func (s *segmentSource) counters(ctx context.Context, match func(string) bool) (counters []counter, err error) {
	rows, err := s.db.QueryContext(ctx, s.query("ORDER BY 1"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		c, err := s.scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		if match(c.name) {
			counters = append(counters, c)
		}
	}
	return counters, rows.Err()
}

func (s *segmentSource) query(rest string) string {
	return fmt.Sprintf("SELECT %s, max_id, %s FROM %s %s", s.key, s.step, s.table, rest)
}

func (s *segmentSource) scan(scan func(...any) error) (c counter, err error) {
	var remainder int64
	if err := scan(&c.name, &c.last, &c.increment, &remainder); err != nil {
		return c, err
	}
	c.name, c.fenced = strings.CutPrefix(c.name, movedKey)
	c.used = true
	if c.increment < 1 || remainder < 0 || remainder >= c.increment {
		return c, fmt.Errorf("row %q of %s: a delta of %d with a remainder of %d has no numbers", c.name, s.table, c.increment, remainder)
	}
	c.last -= ((c.last-remainder)%c.increment + c.increment) % c.increment // the last one with that remainder
	return c, nil
}

// fence renames the key of a row. A server that holds a segment issues the rest of it, and then fails.
func (s *segmentSource) fence(ctx context.Context, name string) (c counter, err error) {
	if len(movedKey)+len(name) > s.keyBytes {
		return c, fmt.Errorf("key %q is too long to be renamed in %s: stop all servers, and use --writers-stopped", name, s.table)
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return c, err
	}
	defer func() { _ = tx.Rollback() }() // after a commit, it does nothing
	read := func(key string) (counter, error) {
		return s.scan(tx.QueryRowContext(ctx, s.query("WHERE "+s.key+" = ? FOR UPDATE"), key).Scan)
	}
	c, err = read(name)
	if errors.Is(err, sql.ErrNoRows) {
		return read(movedKey + name)
	} else if err != nil {
		return c, err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET %s = ? WHERE %[2]s = ?", s.table, s.key), movedKey+name, name); err != nil {
		return c, err
	}
	c.fenced = true
	return c, tx.Commit()
}

// settle does nothing: a commit is durable, unless the server says otherwise.
func (s *segmentSource) settle(context.Context) error { return nil }

func (s *segmentSource) close() { _ = s.db.Close() }
