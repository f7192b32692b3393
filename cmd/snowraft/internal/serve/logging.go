package serve

import (
	"log/slog"

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

// logger returns the logger of a member.
func (h *Host) logger(level slog.Leveler, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(h.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(h.Stderr, options))
}
