package screen

import "math"

// rule takes one msgpack value from s and refuses a wrong value. Members send only maps of names to scalars, and lists of such
// maps. So no rule calls itself.
type rule func(s *scanner) error

// natural takes a whole number from 0 to most, and stores it in into unless that is nil.
func natural(most uint64, into *uint64) rule { return between(0, most, into) }

// between takes a whole number from least to most, and stores it in into unless that is nil.
func between(least, most uint64, into *uint64) rule {
	return func(s *scanner) error {
		v, err := s.natural()
		if err != nil {
			return err
		}
		if v < least || v > most {
			return refuse("number %d, not one from %d to %d", v, least, most)
		}
		if into != nil {
			*into = v
		}
		return nil
	}
}

func (s *scanner) natural() (uint64, error) {
	kind, err := s.byte()
	if err != nil {
		return 0, err
	}
	switch {
	case kind <= 0x7f:
		return uint64(kind), nil
	case kind >= 0xcc && kind <= 0xcf: // unsigned, 1 to 8 bytes
		return s.uint(1 << (kind - 0xcc))
	case kind >= 0xd0 && kind <= 0xd3: // signed
		n := 1 << (kind - 0xd0)
		v, err := s.uint(n)
		if err == nil && v>>(8*n-1) != 0 {
			return 0, refuse("a negative number")
		}
		return v, err
	}
	return 0, refuse("byte %#x where a number belongs", kind)
}

func boolean(s *scanner) error {
	kind, err := s.byte()
	if err == nil && kind != 0xc2 && kind != 0xc3 {
		return refuse("byte %#x where true or false belongs", kind)
	}
	return err
}

const (
	kindNil  = 0xc0
	noLength = -1 // length of nil
)

// length takes the head of text or octets, and returns their length; noLength for nil.
func (s *scanner) length() (int, error) {
	kind, err := s.byte()
	if err != nil {
		return 0, err
	}
	switch {
	case kind == kindNil:
		return noLength, nil
	case kind>>5 == 0b101:
		return int(kind & 0x1f), nil
	case kind >= 0xc4 && kind <= 0xc6:
		return s.size(1 << (kind - 0xc4))
	case kind >= 0xd9 && kind <= 0xdb:
		return s.size(1 << (kind - 0xd9))
	}
	return 0, refuse("byte %#x where text belongs", kind)
}

func (s *scanner) size(n int) (int, error) {
	v, err := s.uint(n)
	if v > math.MaxInt32 {
		return 0, refuse("text of %d bytes", v)
	}
	return int(v), err
}

// text takes text or octets of at most the given number of bytes, or nil.
func text(most int) rule {
	return textOf(func(n int) bool { return n <= most })
}

// textOf takes text or octets whose length fits, or nil, whose length counts as 0.
func textOf(fits func(n int) bool) rule {
	return func(s *scanner) error {
		n, err := s.length()
		if err != nil {
			return err
		}
		if n = max(n, 0); !fits(n) {
			return refuse("text of %d bytes", n)
		}
		_, err = s.take(n)
		return err
	}
}

// head takes the head of a list or a map, and returns the number of elements; noLength for nil. fixed is the kind of the
// smallest form, wide the kind of the form with a length of 2 bytes.
func (s *scanner) head(fixed, wide byte, most int) (int, error) {
	kind, err := s.byte()
	if err != nil {
		return 0, err
	}
	var n uint64
	switch kind {
	case kindNil:
		return noLength, nil
	case wide:
		n, err = s.uint(2)
	case wide + 1:
		n, err = s.uint(4)
	default:
		if kind&0xf0 != fixed {
			return 0, refuse("byte %#x where a list or a map belongs", kind)
		}
		n = uint64(kind & 0x0f)
	}
	if err == nil && n > uint64(most) { //nolint:gosec // a limit of ours
		return 0, refuse("%d elements: expected at most %d", n, most)
	}
	return int(n), err
}

// list takes a list of at most the given number of elements, or nil.
func list(most int, element rule) rule {
	return func(s *scanner) error {
		n, err := s.head(0x90, 0xdc, most)
		for ; err == nil && n > 0; n-- {
			err = element(s)
		}
		return err
	}
}

// fields lists the rules of a map's fields by name. A map may have further fields, of other versions of a library, if their
// values are scalars.
type fields map[string]rule

const (
	maxFields = 32
	maxName   = 64
)

// object takes a map that has at least the required fields, and each name at most once.
func object(known fields, required ...string) rule { return mapping(false, known, required) }

// optional takes a map without required fields, each name at most once, or nil.
func optional(known fields) rule { return mapping(true, known, nil) }

func mapping(orNil bool, known fields, required []string) rule {
	return func(s *scanner) error {
		n, err := s.head(0x80, 0xde, maxFields)
		if err != nil {
			return err
		}
		if n == noLength {
			if orNil {
				return nil
			}
			return refuse("nil where a map belongs")
		}
		seen := make(map[string]bool, n)
		for range n {
			name, err := s.name()
			if err != nil {
				return err
			}
			if seen[name] {
				return refuse("field %q twice", name)
			}
			seen[name] = true
			take := known[name]
			if take == nil {
				take = foreign
			}
			if err := take(s); err != nil {
				return err
			}
		}
		for _, name := range required {
			if !seen[name] {
				return refuse("no field %q", name)
			}
		}
		return nil
	}
}

func (s *scanner) name() (string, error) {
	n, err := s.length()
	if err != nil {
		return "", err
	}
	if n < 1 || n > maxName { // the decoder panics over an empty name
		return "", refuse("a name of %d bytes", n)
	}
	b, err := s.take(n)
	return string(b), err
}

// foreign takes any scalar of at most 255 bytes.
func foreign(s *scanner) error {
	kind, err := s.byte()
	if err != nil {
		return err
	}
	var n int
	switch {
	case kind <= 0x7f, kind >= 0xe0, kind >= 0xc0 && kind <= 0xc3 && kind != 0xc1:
	case kind >= 0xcc && kind <= 0xcf:
		n = 1 << (kind - 0xcc)
	case kind >= 0xd0 && kind <= 0xd3:
		n = 1 << (kind - 0xd0)
	case kind>>5 == 0b101:
		n = int(kind & 0x1f)
	case kind == 0xc4 || kind == 0xd9:
		n, err = s.size(1)
	default:
		return refuse("byte %#x in a field that is not known", kind)
	}
	if err == nil {
		_, err = s.take(n)
	}
	return err
}
