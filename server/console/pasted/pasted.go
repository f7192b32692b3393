// Package pasted reads a text that a person pasted as an ID. It finds the possible encodings and layouts of the text, ranks
// these readings, and returns an objection to each doubtful reading. [Read] returns each possibility as a [Reading].
package pasted

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/snowraft/snowraft/snowflake"
)

const (
	// maxBytes bounds the text, in bytes. No encoding of an ID, and no UUID, is longer.
	maxBytes = 64
	// MaxReadings bounds the readings of one text.
	MaxReadings = 12
	// UUID is the encoding of a reading of a UUID.
	UUID = "uuid"

	day = 24 * 60 * 60 * 1000 // ms
)

// Layouts holds the possible layouts of an ID.
type Layouts struct {
	// Own lists the layouts of the cluster. A preset with the name of one of them is ignored.
	Own []*snowflake.Layout
	// ClusterID is the ID of the cluster, for recognizing its UUIDs; empty if unknown.
	ClusterID string
	// Now is the present time, in Unix milliseconds.
	Now int64
}

// Reading is a possible reading of a text.
type Reading struct {
	ID uint64
	// Encoding is the encoding of the text: the name of a [snowflake.Encoding], or UUID.
	Encoding string
	Layout   *snowflake.Layout
	// Own means that the layout is one of the cluster's. Other layouts are presets.
	Own   bool
	Parts snowflake.Parts
	// At is the start of the ID's tick, in Unix milliseconds.
	At int64
	// Doubt is the objection to the reading; empty without one.
	Doubt string
	// Certain means that the text is a UUID that this cluster derived from the ID.
	Certain bool

	rank int
}

// Read returns the possible readings of a text, at most MaxReadings, the likeliest first. A nonempty layout or encoding
// excludes all others. It returns an error for people if there is no reading.
func Read(text, encoding, layout string, of Layouts) ([]Reading, error) {
	text = strings.Trim(strings.TrimSpace(text), `"'`)
	switch {
	case text == "":
		return nil, errors.New("there is no ID in this text")
	case len(text) > maxBytes:
		return nil, fmt.Errorf("the text has %d characters, and an ID has at most %d; paste one ID", len(text), maxBytes)
	}
	layouts := of.named(layout)
	if len(layouts) == 0 {
		return nil, fmt.Errorf("layout %.64q is neither one of the cluster nor a preset", layout)
	}
	var all []Reading
	var err error
	if encoding == UUID || strings.Contains(text, "-") && encoding == "" {
		all, err = of.readUUID(text, layouts)
	} else {
		all, err = of.readEncoded(text, encoding, layouts)
	}
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b Reading) int { return cmp.Compare(a.rank, b.rank) })
	return all[:min(len(all), MaxReadings)], nil
}

// candidate is a possible layout of an ID.
type candidate struct {
	*snowflake.Layout
	own bool
}

// named returns the layout with a name. Without a name, it returns all layouts: first the cluster's, beginning with its
// default layout, then presets. Of presets that read an ID alike it returns the first.
func (of Layouts) named(name string) []candidate {
	var all []candidate
	add := func(l *snowflake.Layout, own bool) {
		known := slices.ContainsFunc(all, func(c candidate) bool {
			return c.Name() == l.Name() || !own && alike(c.Spec(), l.Spec())
		})
		if (name == "" || name == l.Name()) && !known {
			all = append(all, candidate{l, own})
		}
	}
	for _, l := range of.Own {
		if l.Name() == snowflake.Default().Name() {
			add(l, true)
		}
	}
	for _, l := range of.Own {
		add(l, true)
	}
	for _, l := range snowflake.Presets() {
		add(l, false)
	}
	return all
}

// alike reports whether every ID means the same in two layouts, such as those of Leaf and Hutool.
func alike(a, b snowflake.Spec) bool {
	return slices.Equal(a.Fields, b.Fields) && a.EpochMillis == b.EpochMillis && a.UnitMillis == b.UnitMillis && a.TicksPerMilli == b.TicksPerMilli
}

// readEncoded reads an ID in each encoding, or only in the given encoding.
func (of Layouts) readEncoded(text, encoding string, layouts []candidate) ([]Reading, error) {
	encodings := snowflake.Encodings()
	if encoding != "" {
		one, err := snowflake.ParseEncoding(encoding)
		if err != nil {
			return nil, plain(err)
		}
		encodings = []snowflake.Encoding{one}
	}
	usual := usualEncoding(text)
	var all []Reading
	var failed error
	for i, e := range encodings {
		id, err := e.Decode(text)
		if err != nil {
			if failed == nil || e == usual {
				failed = err
			}
			continue
		}
		for _, l := range layouts {
			p, err := l.Unpack(id)
			if err != nil {
				failed = cmp.Or(failed, err)
				continue
			}
			r := of.reading(l, id, p)
			r.Encoding = e.String()
			r.rank += i
			if e != usual {
				r.rank += 10
			}
			if e.Encode(id) != text { // leading zeros, or letters in the other case
				r.rank += 20
			}
			all = append(all, r)
		}
	}
	if len(all) > 0 {
		return all, nil
	}
	if at := strings.IndexFunc(text, noDigit); at >= 0 && encoding == "" {
		r, _ := utf8.DecodeRuneInString(text[at:])
		return nil, fmt.Errorf("this text is not an ID: no encoding has the character %q; paste one ID, without spaces", r)
	}
	return nil, plain(failed)
}

// noDigit reports whether a character is a digit in no encoding.
func noDigit(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// usualEncoding returns the likeliest encoding of a text: hexadecimal with the prefix 0x, decimal for digits only, otherwise
// base62. In the last case, all encodings are equally likely, and the error of base62 explains an invalid text.
func usualEncoding(text string) snowflake.Encoding {
	switch {
	case len(text) > 1 && strings.EqualFold(text[:2], "0x"):
		return snowflake.Hex
	case strings.Trim(text, "0123456789") == "":
		return snowflake.Decimal
	}
	return snowflake.Base62
}

// readUUID reads the ID in a UUID. UUIDs contain only IDs of the cluster's layouts.
func (of Layouts) readUUID(text string, layouts []candidate) ([]Reading, error) {
	u, err := snowflake.ParseUUID(text)
	if err != nil {
		return nil, plain(err)
	}
	if u.Version() != 7 || u[8]>>6 != 2 {
		return nil, fmt.Errorf("UUID %v has version %d; only UUIDs of version 7 that a Snowraft cluster issued contain an ID", u, u.Version())
	}
	var all []Reading
	for _, l := range layouts {
		id, err := l.FromUUID(u)
		if err != nil {
			continue
		}
		p, err := l.Unpack(id)
		if err != nil || !l.own {
			continue
		}
		r := of.reading(l, id, p)
		r.Encoding = UUID
		if of.ClusterID != "" {
			made, err := l.UUID(id, snowflake.NewUUIDTag(of.ClusterID, l.Name()))
			if r.Certain = err == nil && made == u; !r.Certain {
				r.Doubt = "another system made this UUID: its last bits are not those of this cluster"
			}
		}
		if r.Certain {
			r.rank = -1
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		ms := int64(u[0])<<40 | int64(u[1])<<32 | int64(u[2])<<24 | int64(u[3])<<16 | int64(u[4])<<8 | int64(u[5])
		return nil, fmt.Errorf("UUID %v is of version 7, from Unix millisecond %d, and fits no layout of this cluster", u, ms)
	}
	return all, nil
}

// reading returns the reading of an ID in a layout, with its doubt and its rank. A lower rank is likelier.
func (of Layouts) reading(l candidate, id uint64, p snowflake.Parts) Reading {
	r := Reading{ID: id, Layout: l.Layout, Own: l.own, Parts: p, At: l.MillisAt(p.Tick)}
	spec := l.Spec()
	switch {
	case r.At > of.Now+day:
		r.Doubt = "its time is in the future"
	case r.At < spec.EpochMillis+day && spec.EpochMillis < of.Now-2*day:
		r.Doubt = "its time is on the first day of the layout, so the number is too small"
	case l.own && p.Datacenter != spec.Datacenter:
		r.Doubt = fmt.Sprintf("its datacenter is %d, and this cluster issues IDs for datacenter %d", p.Datacenter, spec.Datacenter)
	case l.own && !spec.LeaseOnly && id > math.MaxInt64:
		r.Doubt = "it has 64 bits, and IDs of a cluster have at most 63"
	}
	if !l.own {
		r.rank += 100
	}
	if r.Doubt != "" {
		r.rank += 1000
	}
	return r
}

// plain removes the sentinel from an error of package snowflake.
func plain(err error) error {
	text := err.Error()
	for _, sentinel := range []error{snowflake.ErrSyntax, snowflake.ErrOutOfRange} {
		text = strings.TrimPrefix(text, sentinel.Error()+": ")
	}
	return errors.New(text)
}
