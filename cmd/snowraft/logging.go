package main

import (
	"log/slog"
	"strings"
)

var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug,
	"info":  slog.LevelInfo,
	"warn":  slog.LevelWarn,
	"error": slog.LevelError,
}

// addLogFlags adds the flags of logging; their present values are the defaults.
func addLogFlags(level, format *string, add func(name string, v *value, help string)) {
	add("log-level", choiceValue(level, "debug", "info", "warn", "error"), "log this and what is more severe, to standard error")
	add("log-format", choiceValue(format, "text", "json"), "how log lines are written")
}

// logger returns the logger of a member. On a terminal, levels in text have colours.
func (a *app) logger(level slog.Leveler, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(a.stderr, options))
	}
	terminal, colours := a.terminal(a.stderr)
	if terminal {
		return slog.New(newConsoleHandler(a.stderr, level, style{colours}))
	}
	return slog.New(slog.NewTextHandler(a.stderr, options))
}

// levelLabel is the level as four letters, coloured by severity.
func levelLabel(s style, level slog.Level) string {
	label := strings.ToUpper(level.String() + "    ")[:4]
	switch {
	case level >= slog.LevelError:
		return s.red(label)
	case level >= slog.LevelWarn:
		return s.bold(label)
	case level < slog.LevelInfo:
		return s.faint(label)
	default:
		return s.green(label)
	}
}
