package diagnose

import (
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// notShown replaces a name.
const notShown = "(omitted)"

// Redactor keeps names of sequences, holders and tokens out of an archive: it shows only the names that it knows. Its methods may
// be called from any goroutine.
type Redactor struct {
	known map[string]bool
}

// NewRedactor returns a redactor that shows the known names, which are those of members and layouts.
func NewRedactor(known ...string) *Redactor {
	r := &Redactor{known: make(map[string]bool)}
	for _, name := range known {
		r.known[name] = true
	}
	return r
}

// hidden matches the parts of a text that may be names. It needs one pass, because callers choose names and a name may look
// like any of these parts. The group is a quoted name: its opening quote follows one of the characters that precede no closing
// quote, and its closing quote does not. After any other quote, after a
// right and after the ID of a token, the whole rest may be a name.
var hidden = regexp.MustCompile(`(?s)(?:^|[ \t\r\n([{<=:,;])("(?:(?:[^"\\]|\\.)*(?:[^"\\ \t\r\n([{<=:,;]|\\.))?")|"|` +
	`lacks the scope |\b(?:ids:issue|ids:backfill|seq:next|seq:read|seq:decode|seq:admin|worker:lease):|\btoken \d+ \(`)

// Text returns a text for people without its names.
func (r *Redactor) Text(text string) string {
	var b strings.Builder
	end := 0
	for _, at := range hidden.FindAllStringSubmatchIndex(text, -1) {
		if at[2] < 0 {
			return b.String() + text[end:at[1]] + notShown
		}
		b.WriteString(text[end:at[2]])
		name, err := strconv.Unquote(text[at[2]:at[3]])
		if err != nil {
			return b.String() + notShown
		}
		if name != "" && !r.known[name] {
			name = notShown
		}
		b.WriteString(strconv.Quote(name))
		end = at[1]
	}
	return b.String() + text[end:]
}

// class is the kind of content that a text may hold.
type class int

const (
	omitted class = iota // unknown text
	plain                // no names except those of members and layouts
	text                 // prose, which quotes names
	name                 // a name, which an archive never includes
)

// fields lists the text fields of messages that an archive includes, by message and field.
var fields = map[protoreflect.FullName]map[protoreflect.Name]class{
	"snowraft.v1.GetStatusResponse": {
		"cluster_id": plain, "member_id": plain, "name": plain, "leader_id": plain, "leader_name": plain, "version": plain,
		"problem": text, "reason": plain, "no_leader": text, "address_problem": text, "secret_fingerprints": plain, "signing_fingerprint": plain,
		"younger_cluster_alive": plain, "set_back_suspected": text,
	},
	"snowraft.v1.Lane":              {"layout": plain, "problem": text, "reason": plain},
	"snowraft.v1.UpgradeBlocker":    {"member_id": plain, "member_name": plain, "problem": text},
	"snowraft.v1.ForeignPeer":       {"address": plain, "problem": text},
	"snowraft.v1.CustomCertificate": {"problem": text},
	"snowraft.v1.TokenUse":          {"host": plain, "token_name": name, "secret_fingerprint": plain, "fault": plain},
	"snowraft.v1.Restoration":       {"ancestors": plain, "old_cluster_alive": plain, "old_cluster_id": plain, "superseded": plain},
	"snowraft.v1.Sealed":            {"reason": text, "witness": text},
	"snowraft.v1.Member": {
		"id": plain, "name": plain, "raft_address": plain, "gossip_address": plain, "api_address": plain, "http_address": plain, "version": plain,
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

// Message returns a copy of a message without names and without texts that fields does not list.
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
