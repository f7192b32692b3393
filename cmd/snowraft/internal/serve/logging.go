package serve

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug,
	"info":  slog.LevelInfo,
	"warn":  slog.LevelWarn,
	"error": slog.LevelError,
}

// addLogFlags adds the flags of logging. The present values of level and format are the defaults.
func addLogFlags(level, format *string, add func(name string, v *cli.Value, help string)) {
	add("log-level", cli.ChoiceValue(level, "debug", "info", "warn", "error"), "lowest level of messages logged to standard error")
	add("log-format", cli.ChoiceValue(format, "text", "json"), "format of log messages")
}

// logger returns the logger of a member. On a terminal, levels in text have colors.
func (h *Host) logger(level slog.Leveler, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(h.Stderr, options))
	}
	terminal, style := h.Terminal(h.Stderr)
	if terminal {
		return slog.New(newConsoleHandler(h.Stderr, level, style))
	}
	return slog.New(slog.NewTextHandler(h.Stderr, options))
}

// levelLabel returns a level as four letters, colored by severity.
func levelLabel(s cli.Style, level slog.Level) string {
	label := strings.ToUpper(level.String() + "    ")[:4]
	switch {
	case level >= slog.LevelError:
		return s.Red(label)
	case level >= slog.LevelWarn:
		return s.Bold(label)
	case level < slog.LevelInfo:
		return s.Faint(label)
	default:
		return s.Green(label)
	}
}

// consoleHandler writes log lines for people at a terminal: time of day, level
// and message, then the attributes as slog's text handler writes them.
type consoleHandler struct {
	level slog.Leveler
	style cli.Style
	attrs slog.Handler // writes the attributes to buf
	out   *consoleOutput
}

// consoleOutput is shared by the handlers derived from one.
type consoleOutput struct {
	mu  sync.Mutex
	buf bytes.Buffer
	w   io.Writer
}

func newConsoleHandler(w io.Writer, level slog.Leveler, s cli.Style) *consoleHandler {
	out := &consoleOutput{w: w}
	attrs := slog.NewTextHandler(&out.buf, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
				return slog.Attr{} // written by Handle
			}
			return a
		},
	})
	return &consoleHandler{level: level, style: s, attrs: attrs, out: out}
}

func (h *consoleHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

func (h *consoleHandler) Handle(ctx context.Context, r slog.Record) error {
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	h.out.buf.Reset()
	if err := h.attrs.Handle(ctx, r); err != nil {
		return err
	}
	line := h.style.Faint(r.Time.Format("15:04:05.000")) + " " + levelLabel(h.style, r.Level) + " " + r.Message
	if attrs := bytes.TrimSpace(h.out.buf.Bytes()); len(attrs) > 0 {
		line += "  " + h.style.Faint(string(attrs))
	}
	_, err := io.WriteString(h.out.w, line+"\n")
	return err
}

func (h *consoleHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	derived := *h
	derived.attrs = h.attrs.WithAttrs(attrs)
	return &derived
}

func (h *consoleHandler) WithGroup(name string) slog.Handler {
	derived := *h
	derived.attrs = h.attrs.WithGroup(name)
	return &derived
}
