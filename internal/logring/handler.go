package logring

import (
	"context"
	"log/slog"
	"slices"
	"sync"
)

// Handler returns a handler that passes records to next, and keeps the records for which next is enabled in the ring.
func (r *Ring) Handler(next slog.Handler) slog.Handler { return &handler{ring: r, next: next} }

type handler struct {
	ring  *Ring
	next  slog.Handler
	attrs []byte // encoded
	group string // ends with a dot
}

// buffers holds buffers for the encoding of lines.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	p := buffers.Get().(*[]byte)
	b := append(appendHead((*p)[:0], record), h.attrs...)
	record.Attrs(func(a slog.Attr) bool {
		b = appendAttr(b, h.group, a)
		return true
	})
	h.ring.add(b)
	*p = b
	buffers.Put(p)
	return h.next.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	derived := *h
	derived.next, derived.attrs = h.next.WithAttrs(attrs), slices.Clip(h.attrs)
	for _, a := range attrs {
		if b := appendAttr(derived.attrs, h.group, a); len(b) < maxLine/2 { // the rest of the line is for the records
			derived.attrs = slices.Clip(b)
		}
	}
	return &derived
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	derived := *h
	derived.next, derived.group = h.next.WithGroup(name), h.group+name+"."
	return &derived
}
