package otlp

import (
	"log/slog"

	"github.com/go-logr/logr"
)

// sink logs the settings that OpenTelemetry could not read. It omits their values, because some are secrets.
type sink struct{ logger *slog.Logger }

// Init implements logr.LogSink, as do the other methods.
func (sink) Init(logr.RuntimeInfo) {}

// Enabled reports false: only errors are logged.
func (sink) Enabled(int) bool { return false }

// Info does nothing.
func (sink) Info(int, string, ...any) {}

// Error logs an error without its text.
func (s sink) Error(_ error, what string, _ ...any) {
	s.logger.Warn("setting of OpenTelemetry not read; using its default", "setting", what)
}

// WithValues returns the sink itself.
func (s sink) WithValues(...any) logr.LogSink { return s }

// WithName returns the sink itself.
func (s sink) WithName(string) logr.LogSink { return s }
