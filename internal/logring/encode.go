package logring

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// appendText appends a text, cut to maxText, after its length.
func appendText(b []byte, text string) []byte {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// appendHead appends the time, the level and the message of a record.
func appendHead(b []byte, r slog.Record) []byte {
	b = binary.AppendVarint(b, r.Time.UnixNano())
	b = binary.AppendVarint(b, int64(r.Level))
	return appendText(b, r.Message)
}

// appendAttr appends an attribute, unless the line would be too long. It appends the attributes of a group one after another.
func appendAttr(b []byte, group string, a slog.Attr) []byte {
	v := a.Value.Resolve()
	key := a.Key
	if group != "" {
		key = group + key
	}
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group = key + "."
		}
		for _, a := range v.Group() {
			b = appendAttr(b, group, a)
		}
		return b
	}
	if a.Equal(slog.Attr{}) {
		return b
	}
	before := len(b)
	var digits [64]byte
	plain := digits[:0]
	switch v.Kind() {
	case slog.KindInt64:
		plain = strconv.AppendInt(plain, v.Int64(), 10)
	case slog.KindUint64:
		plain = strconv.AppendUint(plain, v.Uint64(), 10)
	case slog.KindFloat64:
		plain = strconv.AppendFloat(plain, v.Float64(), 'g', -1, 64)
	case slog.KindBool:
		plain = strconv.AppendBool(plain, v.Bool())
	case slog.KindDuration:
		plain = append(plain, v.Duration().String()...)
	case slog.KindTime:
		plain = v.Time().AppendFormat(plain, time.RFC3339Nano)
	default:
		b = appendText(append(b, 0), key)
		b = appendText(b, textOf(v))
	}
	if len(plain) > 0 {
		b = appendText(append(b, 1), key)
		b = append(binary.AppendUvarint(b, uint64(len(plain))), plain...)
	}
	if len(b) > maxLine {
		return b[:before]
	}
	return b
}

// textOf returns a value as text. The text of a value that panics is empty.
func textOf(v slog.Value) (text string) {
	if v.Kind() == slog.KindString {
		return v.String()
	}
	defer func() {
		if recover() != nil {
			text = "!PANIC"
		}
	}()
	if err, ok := v.Any().(error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%+v", v.Any())
}

// decode decodes a line that the functions above encoded.
func decode(b []byte) (l Line) {
	number := func() int64 {
		v, n := binary.Varint(b)
		b = b[n:]
		return v
	}
	text := func() string {
		size, n := binary.Uvarint(b)
		s := string(b[n : n+int(size)]) //nolint:gosec // at most maxLine
		b = b[n+int(size):]             //nolint:gosec // at most maxLine
		return s
	}
	l.Time = time.Unix(0, number())
	l.Level = slog.Level(number())
	l.Message = text()
	for len(b) > 0 {
		plain := b[0] == 1
		b = b[1:]
		l.Attrs = append(l.Attrs, Attr{Plain: plain, Key: text(), Value: text()})
	}
	return l
}
