//go:build linux

package workload

import (
	"errors"
	"testing"
)

// The constraint of the recipe: of a document and a void row of one number, one is committed.
func TestDatabaseKeepsNumbersUnique(t *testing.T) {
	t.Parallel()
	at := place{"s", "", 1}
	document := row{key: "a", reservation: 10}
	for _, c := range []struct {
		name   string
		before func(db *database)
		insert row
		want   error
	}{
		{"empty", func(*database) {}, document, nil},
		{"open", func(db *database) { begin(t, db, at, document) }, row{reservation: 10}, errLocked},
		{"rolled back", func(db *database) { begin(t, db, at, document).rollback() }, row{reservation: 10}, nil},
		{"committed", func(db *database) { begin(t, db, at, document).commit() }, row{reservation: 11}, errExists},
		{"void in this reservation", func(db *database) { begin(t, db, at, row{reservation: 10}).commit() }, document, errExists},
		{"void in an earlier reservation", func(db *database) { begin(t, db, at, row{reservation: 9}).commit() }, document, nil},
		{"void again after a rollback", func(db *database) {
			begin(t, db, at, row{reservation: 9}).commit()
			begin(t, db, at, document).rollback()
		}, row{key: "b", reservation: 9}, errExists},
		{"key under another number", func(db *database) { begin(t, db, place{"s", "", 2}, document).commit() }, document, errExists},
		{"key of another sequence", func(db *database) { begin(t, db, place{"other", "", 1}, document).commit() }, document, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := newDatabase()
			c.before(db)
			if _, err := db.insert(at, c.insert); !errors.Is(err, c.want) {
				t.Errorf("insert() = %v, want %v", err, c.want)
			}
		})
	}
}

func begin(t *testing.T, db *database, at place, r row) *transaction {
	t.Helper()
	tx, err := db.insert(at, r)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}
