//go:build linux

package workload

import (
	"errors"
	"sync"

	"github.com/snowraft/snowraft/jepsen/history"
)

// database plays the table of documents of an application, as docs/document-numbers.md describes it: the sequence, period and number of a row
// are unique, and so is the key of a document. It outlives the crashes of applications.
type database struct {
	mu        sync.Mutex
	rows      map[place]row
	documents map[order]place
}

// place identifies a number of a sequence.
type place struct {
	sequence, period string
	number           int64
}

// order needs one document. The key of its reservation is unique in the sequence.
type order struct{ sequence, key string }

// row is a document or, without a key, a void number.
type row struct {
	key         string
	reservation uint64
	elsewhere   bool // the number was drawn elsewhere
	committed   bool
}

// transaction is an inserted row that is not committed.
type transaction struct {
	db     *database
	at     place
	before row // the void row that it replaces
}

var (
	errExists = errors.New("a row with this number or this key exists")
	errLocked = errors.New("another transaction has inserted a row with this number or this key")
)

func newDatabase() *database {
	return &database{rows: make(map[place]row), documents: make(map[order]place)}
}

// insert begins a transaction that deletes the void row of an earlier reservation, and inserts a row.
func (db *database) insert(at place, r row) (*transaction, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	before, exists := db.rows[at]
	switch other, twice := db.documents[order{at.sequence, r.key}]; {
	case exists && !before.committed, twice && !db.rows[other].committed:
		return nil, errLocked
	case exists && (before.key != "" || before.reservation >= r.reservation), twice:
		return nil, errExists
	}
	r.committed = false
	db.rows[at] = r
	if r.key != "" {
		db.documents[order{at.sequence, r.key}] = at
	}
	return &transaction{db, at, before}, nil
}

func (t *transaction) commit() {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	r := t.db.rows[t.at]
	r.committed = true
	t.db.rows[t.at] = r
}

func (t *transaction) rollback() {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	delete(t.db.documents, order{t.at.sequence, t.db.rows[t.at].key})
	if t.db.rows[t.at] = t.before; !t.before.committed {
		delete(t.db.rows, t.at)
	}
}

// row returns the committed row of a number.
func (db *database) row(at place) (row, bool) {
	db.mu.Lock()
	defer db.mu.Unlock()
	r := db.rows[at]
	return r, r.committed
}

// has reports whether the document of an order is committed.
func (db *database) has(o order) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	at, ok := db.documents[o]
	return ok && db.rows[at].committed
}

// last returns the greatest number of the committed rows of a period; 0 if there is none.
func (db *database) last(sequence, period string) (last int64) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for at, r := range db.rows {
		if at.sequence == sequence && at.period == period && r.committed {
			last = max(last, at.number)
		}
	}
	return last
}

// record writes all committed rows to the journal.
func (db *database) record(j *history.Journal) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for at, r := range db.rows {
		if r.committed {
			j.Add(history.Line{Row: &history.Row{
				Sequence: at.sequence, Period: at.period, Number: at.number, Key: r.key, Elsewhere: r.elsewhere,
			}})
		}
	}
}
