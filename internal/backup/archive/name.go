package archive

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Name identifies a backup at a place: the folder is the ID of the cluster, and the file has the log index, the term and the time.
// Index and Term are not 0, and TakenAtMillis is in the years 1970 to 9999. Names are in the order of [Name.Compare].
type Name struct {
	Cluster       string // UUID
	Index, Term   uint64
	TakenAtMillis int64 // Unix milliseconds
}

const (
	suffix     = ".backup"
	timeLayout = "20060102T150405.000Z"
)

// NameOf returns the name of the backup with a header.
func NameOf(h *commandv1.BackupHeader) Name {
	return Name{Cluster: h.GetClusterId(), Index: h.GetIndex(), Term: h.GetTerm(), TakenAtMillis: h.GetTakenAtMs()}
}

// String returns the path of the backup at its place, with a slash. Listings in the order of paths are in the order of indexes.
func (n Name) String() string {
	return fmt.Sprintf("%s/%020d-%d-%s%s", n.Cluster, n.Index, n.Term, n.TakenAt().Format(timeLayout), suffix)
}

// TakenAt returns the time of the backup.
func (n Name) TakenAt() time.Time { return time.UnixMilli(n.TakenAtMillis).UTC() }

// Compare orders names with the same cluster by their states: by term, then by index, then by time.
func (n Name) Compare(o Name) int {
	return cmp.Or(cmp.Compare(n.Term, o.Term), cmp.Compare(n.Index, o.Index), cmp.Compare(n.TakenAtMillis, o.TakenAtMillis))
}

// Of reports whether the backup with a header has this name.
func (n Name) Of(h *commandv1.BackupHeader) bool { return NameOf(h) == n }

var namePattern = regexp.MustCompile(`^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/([0-9]{20})-([0-9]{1,20})-([0-9]{8}T[0-9]{6}\.[0-9]{3}Z)\.backup$`)

// ParseName returns the name whose path is text. ok is false for the path of any other file.
func ParseName(text string) (n Name, ok bool) {
	parts := namePattern.FindStringSubmatch(text)
	if parts == nil {
		return n, false
	}
	index, err := strconv.ParseUint(parts[2], 10, 64)
	if err != nil {
		return n, false
	}
	term, err := strconv.ParseUint(parts[3], 10, 64)
	if err != nil {
		return n, false
	}
	at, err := time.Parse(timeLayout, parts[4])
	if err != nil || at.UnixMilli() < 0 {
		return n, false
	}
	n = Name{Cluster: parts[1], Index: index, Term: term, TakenAtMillis: at.UnixMilli()}
	return n, n.Index > 0 && n.Term > 0 && n.String() == text
}
