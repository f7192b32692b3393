package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/lib/pq"
)

// postgresSource is the sequences of a PostgreSQL database, with those of identity and serial columns.
type postgresSource struct{ db *sql.DB }

func openPostgres(ctx context.Context, address, password string) (source, error) {
	config, err := pq.NewConfig(address)
	if err != nil {
		return nil, fmt.Errorf("address of PostgreSQL: %w", err)
	}
	if config.Password == "" {
		config.Password = password
	}
	connector, err := pq.NewConnectorConfig(config)
	if err != nil {
		return nil, err
	}
	s := &postgresSource{sql.OpenDB(connector)}
	var standby bool
	err = s.db.QueryRowContext(ctx, "SELECT pg_is_in_recovery()").Scan(&standby)
	switch {
	case standby:
		err = errors.New("the server is a standby: import from its primary")
	case errors.Is(err, pq.ErrSSLNotSupported):
		err = fmt.Errorf("%w; use TLS there, or add ?sslmode=disable to the address if you trust the network", err)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// sequenceQuery reads sequences. The last number is NULL if none was issued, or if the role may not read it.
const sequenceQuery = `
SELECT s.schemaname, s.sequencename, s.start_value, s.min_value, s.max_value, s.increment_by, s.cycle, s.last_value,
  has_sequence_privilege(format('%I.%I', s.schemaname, s.sequencename), 'SELECT,USAGE')
FROM pg_sequences s WHERE s.schemaname NOT LIKE 'pg\_temp%' ORDER BY 1, 2`

type postgresSequence struct {
	schema, name                      string
	start, least, greatest, increment int64
	cycle                             bool
	last                              sql.Null[int64]
	readable                          bool
}

// counterName returns the name of a sequence without the schema public.
func (q postgresSequence) counterName() string {
	if q.schema == "public" {
		return q.name
	}
	return q.schema + "." + q.name
}

func (q postgresSequence) counter() (counter, error) {
	if !q.readable {
		return counter{}, fmt.Errorf("sequence %q: its last number is unknown, because this role may not read it; GRANT SELECT ON SEQUENCE %s", q.counterName(), q.quoted())
	}
	c := counter{name: q.counterName(), increment: q.increment, last: q.start - q.increment}
	if q.last.Valid {
		c.last, c.used = q.last.V, true
		c.fenced = !q.cycle && (q.increment > 0 && q.greatest == c.last || q.increment < 0 && q.least == c.last)
	}
	if q.cycle && !c.fenced {
		c.note = "cycles: its numbers repeat"
	}
	return c, nil
}

func (q postgresSequence) quoted() string {
	return pq.QuoteIdentifier(q.schema) + "." + pq.QuoteIdentifier(q.name)
}

func (s *postgresSource) sequences(ctx context.Context) (all []postgresSequence, err error) {
	rows, err := s.db.QueryContext(ctx, sequenceQuery)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var q postgresSequence
		if err := rows.Scan(&q.schema, &q.name, &q.start, &q.least, &q.greatest, &q.increment, &q.cycle, &q.last, &q.readable); err != nil {
			return nil, err
		}
		all = append(all, q)
	}
	return all, rows.Err()
}

func (s *postgresSource) counters(ctx context.Context, match func(string) bool) (counters []counter, err error) {
	all, err := s.sequences(ctx)
	for _, q := range all {
		if !match(q.counterName()) {
			continue
		}
		c, err := q.counter()
		if err != nil {
			return nil, err
		}
		counters = append(counters, c)
	}
	return counters, err
}

// fence makes the present number the last one. Numbers that sessions hold in their caches lie before it, because the sequence counts
// them when a session takes them.
func (s *postgresSource) fence(ctx context.Context, name string) (c counter, err error) {
	all, err := s.sequences(ctx)
	if err != nil {
		return c, err
	}
	for _, q := range all {
		if q.counterName() == name {
			if c, err = q.counter(); err == nil && !c.fenced {
				c, err = s.end(ctx, q)
			}
			return c, err
		}
	}
	return c, fmt.Errorf("sequence %q is gone", name)
}

func (s *postgresSource) end(ctx context.Context, q postgresSequence) (c counter, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return c, err
	}
	defer func() { _ = tx.Rollback() }() // after a commit, it does nothing
	// From here to the end of the transaction, nextval waits.
	if _, err := tx.ExecContext(ctx, "ALTER SEQUENCE "+q.quoted()+" NO CYCLE"); err != nil {
		return c, err
	}
	c = counter{name: q.counterName(), increment: q.increment, used: true, fenced: true}
	var used bool
	if err := tx.QueryRowContext(ctx, "SELECT last_value, is_called FROM "+q.quoted()).Scan(&c.last, &used); err != nil {
		return c, err
	}
	if !used { // the first number is given up, because a sequence cannot end before it
		if _, err := tx.ExecContext(ctx, "SELECT setval($1::regclass, $2, true)", q.quoted(), c.last); err != nil {
			return c, err
		}
	}
	bound := "MAXVALUE"
	if q.increment < 0 {
		bound = "MINVALUE"
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("ALTER SEQUENCE %s %s %d", q.quoted(), bound, c.last)); err != nil {
		return c, err
	}
	return c, tx.Commit()
}

// settle makes the fences durable on a server that confirms commits before they are.
func (s *postgresSource) settle(ctx context.Context) error {
	var commit string
	if err := s.db.QueryRowContext(ctx, "SHOW synchronous_commit").Scan(&commit); err != nil || !strings.EqualFold(commit, "off") {
		return err
	}
	if _, err := s.db.ExecContext(ctx, "CHECKPOINT"); err != nil {
		return fmt.Errorf("synchronous_commit is off, so the server may forget the fence in a crash: %w", err)
	}
	return nil
}

func (s *postgresSource) close() { _ = s.db.Close() }
