package cluster

import (
	"errors"
	"testing"
)

// An operator who names a member means exactly one: acting on another member is worse than an error.
func TestFindMembers(t *testing.T) {
	a, b, b2, c := Member{ID: "1", Name: "a"}, Member{ID: "2", Name: "b"}, Member{ID: "3", Name: "b"}, Member{ID: "4"}
	for _, test := range []struct {
		members  []Member
		idOrName string
		want     string
		err      error
	}{
		{[]Member{a, b}, "a", "1", nil},
		{[]Member{a, b}, "2", "2", nil},
		{[]Member{a, b}, "c", "", ErrUnknownMember},
		{[]Member{a, b, b2}, "b", "", ErrAmbiguousMember},
		{[]Member{a, b, b2}, "a", "1", nil},
		{[]Member{a, b, b2, c}, "b", "", ErrAmbiguousMember}, // even with a nameless member
		{[]Member{a, b, c}, "b", "", ErrNamesUnknown},
		{[]Member{a, b, c}, "c", "", ErrNamesUnknown},
		{[]Member{a, b, c}, "4", "4", nil},
		{[]Member{c}, "1", "", ErrNamesUnknown}, // "1" may be the name of c
	} {
		got, err := find(test.members, test.idOrName)
		if got.ID != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s among %+v: %s, %v; want %s, %v", test.idOrName, test.members, got.ID, err, test.want, test.err)
		}
	}
}
