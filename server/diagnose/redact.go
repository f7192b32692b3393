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

// Redactor keeps names of sequences, holders and tokens out of an archive. It replaces each name with a pseudonym. A name has
// the same pseudonym everywhere, and in the archives of all members that use the same salt. Without the salt, which no archive
// holds, a pseudonym cannot be traced to its name. Its methods may be called from any goroutine.
type Redactor struct {
	names bool // show names
	salt  []byte
	known map[string]bool // names that are always shown, such as those of members and layouts
}

// NewRedactor returns a redactor, which shows all names if names is true. It always shows the known names, which are those of
// members and layouts. It keeps salt, which must not change.
func NewRedactor(names bool, salt []byte, known ...string) *Redactor {
	r := &Redactor{names: names, salt: salt, known: make(map[string]bool)}
	for _, name := range known {
		r.known[name] = true
	}
	return r
}

// Name returns a name or its pseudonym: "name-" and 12 hexadecimal digits of the HMAC-SHA-256 of the name with the salt as the
// key.
func (r *Redactor) Name(name string) string {
	if r.names || r.known[name] || name == "" {
		return name
	}
	sum := hmac.New(sha256.New, r.salt)
	_, _ = sum.Write([]byte(name)) // never fails
	return "name-" + hex.EncodeToString(sum.Sum(nil)[:6])
}

// right matches the rights that apply to a name.
const right = `(?:ids:issue|seq:next|seq:read|seq:admin|worker:lease):`

// hidden matches the parts of a text that may be names. It needs one pass, because callers choose names and a name may look
// like any of these parts. The parts are: a quoted name, without an end if the text was cut off; a resource after the right
// that a token lacks, which may be any text; and a name after a right or after the ID of a token, up to the next space,
// because no name has a space.
var hidden = regexp.MustCompile(`(?s)"((?:[^"\\]|\\.)*)("|\\?$)|\b(lacks the scope ` + right + `)(.+)|\b(` + right + `|token \d+ \()(\S+)`)

// beforeQuote lists the characters that precede an opening quote. No other quote follows one of them.
const beforeQuote = " \t\r\n([{<=:,;"

// Text returns a text for people without its names. A quote that does not belong to a quoted name, such as a quote in the name
// of a member, hides the rest of the text.
func (r *Redactor) Text(text string) string {
	if r.names {
		return text
	}
	var b strings.Builder
	end := 0
	for _, at := range hidden.FindAllStringSubmatchIndex(text, -1) {
		part := func(n int) string { return text[at[2*n]:at[2*n+1]] }
		b.WriteString(text[end:at[0]])
		end = at[1]
		switch {
		case at[2] < 0 && at[6] >= 0:
			b.WriteString(part(3) + r.Name(part(4)))
		case at[2] < 0:
			b.WriteString(part(5) + r.run(part(6), strings.HasPrefix(part(5), "token ")))
		case at[0] > 0 && !strings.Contains(beforeQuote, text[at[0]-1:at[0]]) || part(1) != "" && strings.ContainsAny(part(1)[len(part(1))-1:], beforeQuote):
			b.WriteString(strconv.Quote(r.Name(text[at[0]:])))
			return b.String()
		default:
			b.WriteString(strconv.Quote(r.Name(unquote(part(0)))))
		}
	}
	return b.String() + text[end:]
}

// run redacts the text after a right or after the ID of a token. After the ID of a token, the name is in parentheses.
func (r *Redactor) run(run string, ofToken bool) string {
	if !ofToken {
		return r.Name(run)
	}
	if i := strings.LastIndexByte(run, ')'); i >= 0 && strings.Contains(":;,.", run[i+1:]) {
		return r.Name(run[:i]) + run[i:]
	}
	return r.Name(run) // the text was cut off
}

// unquote returns a quoted name without its quotes and escapes.
func unquote(quoted string) string {
	name, err := strconv.Unquote(quoted)
	if err != nil {
		return strings.Trim(quoted, `"`)
	}
	return name
}

// actor redacts the actor of a change. The name of a token may contain any visible character.
func (r *Redactor) actor(actor string) string {
	rest, ofToken := strings.CutPrefix(actor, "token ")
	if !ofToken || r.names {
		return actor // a member ID, or another actor that is not a token
	}
	id, name, _ := strings.Cut(rest, " (")
	return "token " + id + " (" + r.Name(strings.TrimSuffix(name, ")")) + ")"
}

// plainScope matches a scope that cannot be a part of another scope.
var plainScope = regexp.MustCompile(`^(?:metrics:read|cluster:read|cluster:admin|tokens:admin|tokens:verify|` + right + `\S+)$`)

// scopes redacts a list of scopes. A resource in a scope may have spaces. The list is then ambiguous, and the whole list is
// redacted as one name.
func (r *Redactor) scopes(list string) string {
	scopes := strings.Fields(strings.TrimSuffix(strings.TrimPrefix(list, "["), "]"))
	for i, scope := range scopes {
		if !plainScope.MatchString(scope) {
			return r.Name(list)
		}
		scopes[i] = r.Text(scope)
	}
	return "[" + strings.Join(scopes, " ") + "]"
}

// class is the kind of content that a text may hold.
type class int

const (
	omitted class = iota // unknown text
	plain                // no names except those of members and layouts
	text                 // prose, which quotes names
	name                 // a name
	actor                // actor of a change, with the name of a token
	scopes               // a list of scopes, which have names
	stack                // stack of a goroutine, with the arguments of its functions
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
