package cluster

import (
	"context"
	"io"
	"log"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// slogSink passes the records of hashicorp's loggers on to slog.
type slogSink struct{ logger *slog.Logger }

func (s slogSink) Accept(name string, level hclog.Level, msg string, args ...any) {
	// Their Info is our Debug: raft and memberlist report daily routine there.
	to := slog.LevelDebug
	switch {
	case level >= hclog.Error:
		to = slog.LevelError
	case level >= hclog.Warn:
		to = slog.LevelWarn
	}
	s.logger.Log(context.Background(), to, msg, append([]any{"component", name}, args...)...)
}

func hashicorpLogger(logger *slog.Logger, name string) hclog.InterceptLogger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: name, Level: hclog.Off, Output: io.Discard})
	l.RegisterSink(slogSink{logger})
	return l
}

func gossipLogger(logger *slog.Logger) *log.Logger {
	return hashicorpLogger(logger, "gossip").StandardLogger(&hclog.StandardLoggerOptions{InferLevels: true})
}
