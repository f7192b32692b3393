package diagnose

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Redactor keeps names of sequences, holders and tokens out of an archive. A pseudonym replaces each of them, the same
// one wherever a name occurs and in every member that uses the same salt. Without the salt, which no archive holds, a
// pseudonym cannot be traced to its name.
type Redactor struct {
	names bool // show them
	salt  []byte
	known map[string]bool // names that are always shown: of members and layouts
}

// NewRedactor returns a redactor. The known names are those of members and layouts.
func NewRedactor(names bool, salt []byte, known ...string) *Redactor {
	r := &Redactor{names: names, salt: salt, known: make(map[string]bool)}
	for _, name := range known {
		r.known[name] = true
	}
	return r
}

// Name returns a name or its pseudonym.
func (r *Redactor) Name(name string) string {
	if r.names || r.known[name] || name == "" {
		return name
	}
	sum := hmac.New(sha256.New, r.salt)
	_, _ = sum.Write([]byte(name)) // never fails
	return "name-" + hex.EncodeToString(sum.Sum(nil)[:6])
}

var (
	// quoted is a name in the text of an error, which quotes names. One that was cut off has no end.
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*(?:"|\\?$)`)
	// scope is a right with the name that it is for.
	scope = regexp.MustCompile(`\b(ids:issue|seq:next|seq:read|seq:admin|worker:lease):(\S+)`)
	// token is a token by its ID and name.
	token = regexp.MustCompile(`\btoken (\d+) \((.*)\)`)
)

// Text returns a text for people without names.
func (r *Redactor) Text(text string) string {
	if r.names {
		return text
	}
	text = quoted.ReplaceAllStringFunc(text, func(q string) string {
		name, err := strconv.Unquote(q)
		if err != nil {
			name = strings.Trim(q, `"`)
		}
		return strconv.Quote(r.Name(name))
	})
	text = scope.ReplaceAllStringFunc(text, func(s string) string {
		parts := scope.FindStringSubmatch(s)
		return parts[1] + ":" + r.Name(parts[2])
	})
	return token.ReplaceAllStringFunc(text, func(s string) string {
		parts := token.FindStringSubmatch(s)
		return "token " + parts[1] + " (" + r.Name(parts[2]) + ")"
	})
}

// class says what a text may hold.
type class int

const (
	omitted class = iota // unknown: left out
	plain                // no names but those of members and layouts
	text                 // prose, which quotes names
	name                 // a name
	stack                // of a goroutine, with the arguments of its functions
)

// fields are the texts of messages that an archive includes, by message and field.
var fields = map[protoreflect.FullName]map[protoreflect.Name]class{
	"snowraft.v1.GetStatusResponse": {
		"cluster_id": plain, "member_id": plain, "name": plain, "leader_id": plain, "leader_name": plain, "version": plain,
		"problem": text, "no_leader": text, "secret_fingerprints": plain, "signing_fingerprint": plain,
	},
	"snowraft.v1.Lane":           {"layout": plain, "problem": text},
	"snowraft.v1.UpgradeBlocker": {"member_id": plain, "member_name": plain, "problem": text},
	"snowraft.v1.ForeignPeer":    {"address": plain, "problem": text},
	"snowraft.v1.Restoration":    {"ancestors": plain, "old_cluster_alive": plain},
	"snowraft.v1.Member": {
		"id": plain, "name": plain, "raft_address": plain, "gossip_address": plain, "api_address": plain, "version": plain,
		"secret_fingerprints": plain,
	},
}

// classOf returns the class of a field. Numbers and enum values are plain.
func classOf(f protoreflect.FieldDescriptor) class {
	switch f.Kind() {
	case protoreflect.StringKind:
		return fields[f.Parent().FullName()][f.Name()]
	case protoreflect.BytesKind:
		return omitted
	default:
		return plain
	}
}

// Message returns a copy of a message without names, and without texts that are not known.
func (r *Redactor) Message(m proto.Message) proto.Message {
	m = proto.Clone(m)
	r.message(m.ProtoReflect())
	return m
}

func (r *Redactor) message(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		c := classOf(f)
		switch {
		case c == omitted || f.IsMap():
			m.Clear(f)
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				r.message(v.List().Get(i).Message())
			}
		case f.Message() != nil:
			r.message(v.Message())
		case c == text && !f.IsList():
			m.Set(f, protoreflect.ValueOfString(r.Text(v.String())))
		case c != plain:
			m.Clear(f)
		}
		return true
	})
}
