package serve

import (
	"log/slog"
	"strings"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug,
	"info":  slog.LevelInfo,
	"warn":  slog.LevelWarn,
	"error": slog.LevelError,
}

// addLogFlags adds the flags of logging; their present values are the defaults.
func addLogFlags(level, format *string, add func(name string, v *cli.Value, help string)) {
	add("log-level", cli.ChoiceValue(level, "debug", "info", "warn", "error"), "log this and what is more severe, to standard error")
	add("log-format", cli.ChoiceValue(format, "text", "json"), "how log lines are written")
}

// logger returns the logger of a member. On a terminal, levels in text have colours.
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

// levelLabel is the level as four letters, coloured by severity.
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
